#include "data/source/read_ahead_file.hpp"

#include "data/source/positioned_file.hpp"
#include "data/source/stream_file.hpp"

#include <arrow/buffer.h>
#include <arrow/util/future.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>

namespace ballast::data {

namespace {

using arrow_buffer = std::shared_ptr<arrow::Buffer>;

constexpr int64_t window_min = 256 << 10;
constexpr int64_t window_max = 8 << 20;
constexpr int64_t large_read = 4 << 20;

class read_ahead_file : public positioned_file {
public:
  using positioned_file::ReadAsync;
  using positioned_file::ReadAt;

  read_ahead_file(std::shared_ptr<arrow::io::RandomAccessFile> file,
                  int64_t size,
                  std::function<failure(const arrow::Status&)> explain)
      : positioned_file(size), file_(std::move(file)),
        explain_(std::move(explain)) {}
  ~read_ahead_file() override { drop_next(); }

  arrow::Status Close() override { return file_->Close(); }
  bool closed() const override { return file_->closed(); }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t bytes,
                                void* out) override {
    ARROW_ASSIGN_OR_RAISE(bytes, within(position, bytes));
    if (bytes >= large_read)
      return explained(file_->ReadAt(position, bytes, out));
    const std::lock_guard lock(mutex_);
    for (int64_t done = 0; done < bytes;) {
      const int64_t at = position + done;
      if (!holds(at))
        ARROW_RETURN_NOT_OK(move_window(at, bytes - done));
      const int64_t part =
          std::min(bytes - done, begin_ + window_->size() - at);
      std::memcpy(static_cast<char*>(out) + done,
                  window_->data() + (at - begin_), size_t(part));
      done += part;
    }
    return bytes;
  }
  arrow::Result<arrow_buffer> ReadAt(int64_t position, int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(bytes, within(position, bytes));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> out,
                          arrow::AllocateResizableBuffer(bytes));
    ARROW_ASSIGN_OR_RAISE(const int64_t got,
                          ReadAt(position, bytes, out->mutable_data()));
    ARROW_RETURN_NOT_OK(out->Resize(got));
    return out;
  }
  arrow::Future<arrow_buffer> ReadAsync(const arrow::io::IOContext& context,
                                        int64_t position,
                                        int64_t bytes) override {
    const arrow::Result<int64_t> most = within(position, bytes);
    if (!most.ok())
      return arrow::Future<arrow_buffer>::MakeFinished(most.status());
    auto explain = explain_;
    return file_->ReadAsync(context, position, *most)
        .Then([](const arrow_buffer& buffer) { return buffer; },
              [explain](
                  const arrow::Status& status) -> arrow::Result<arrow_buffer> {
                return with_detail(status, explain);
              });
  }

private:
  static arrow::Status
  with_detail(const arrow::Status& status,
              const std::function<failure(const arrow::Status&)>& explain) {
    return status.WithDetail(std::make_shared<read_failure>(explain(status)));
  }
  template <class T>
  arrow::Result<T> explained(arrow::Result<T> result) const {
    return result.ok()
               ? std::move(result)
               : arrow::Result<T>(with_detail(result.status(), explain_));
  }

  bool holds(int64_t position) const {
    return window_ != nullptr && position >= begin_ &&
           position < begin_ + window_->size();
  }

  /// To one that holds `position`, which is before the end of the file.
  arrow::Status move_window(int64_t position, int64_t bytes) {
    const bool goes_on =
        window_ != nullptr && position == begin_ + window_->size();
    if (!goes_on)
      drop_next();
    if (!next_) {
      width_ = std::max(window_min, bytes);
      ask(position);
    }
    const arrow::Result<arrow_buffer> got = explained(next_->result());
    next_.reset();
    ARROW_RETURN_NOT_OK(got.status());
    if ((*got)->size() == 0)
      return with_detail(arrow::Status::IOError("the file has become shorter"),
                         explain_);
    window_ = *got;
    begin_ = position;
    const int64_t end = begin_ + window_->size();
    if (goes_on && end < size()) {
      width_ = std::min(window_max, width_ * 2);
      ask(end);
    }
    return arrow::Status::OK();
  }

  void ask(int64_t position) {
    next_ = file_->ReadAsync(position, std::min(width_, size() - position));
  }

  /// The answer to a request that is on its way is waited for: it would find
  /// neither file nor client.
  void drop_next() {
    if (next_)
      next_->Wait();
    next_.reset();
  }

  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  const std::function<failure(const arrow::Status&)> explain_;

  std::mutex mutex_;
  int64_t begin_ = 0; // of window_
  arrow_buffer window_;
  int64_t width_ = window_min;
  std::optional<arrow::Future<arrow_buffer>> next_; // directly behind window_
};

} // namespace

std::shared_ptr<arrow::io::RandomAccessFile>
read_ahead(std::shared_ptr<arrow::io::RandomAccessFile> file, int64_t size,
           std::function<failure(const arrow::Status&)> explain) {
  return std::make_shared<read_ahead_file>(std::move(file), size,
                                           std::move(explain));
}

} // namespace ballast::data
