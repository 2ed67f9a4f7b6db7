#include "data/source/read_ahead_file.hpp"

#include "data/source/asked_range.hpp"
#include "data/source/positioned_file.hpp"
#include "data/source/stream_file.hpp"

#include <arrow/buffer.h>
#include <arrow/util/future.h>

#include <algorithm>
#include <mutex>
#include <optional>

namespace ballast::data {

namespace {

using arrow_buffer = std::shared_ptr<arrow::Buffer>;

constexpr int64_t window_min = 256 << 10;
constexpr int64_t window_max = 8 << 20;
constexpr int64_t large_read = 4 << 20;
constexpr int64_t footer_bytes = 64 << 10;

class read_ahead_file : public positioned_file {
public:
  using positioned_file::ReadAsync;
  using positioned_file::ReadAt;

  read_ahead_file(std::shared_ptr<arrow::io::RandomAccessFile> file,
                  int64_t size,
                  std::function<failure(const arrow::Status&)> explain,
                  fetching how)
      : positioned_file(size), file_(std::move(file)),
        explain_(std::move(explain)) {
    if (how == fetching::whole)
      whole_.emplace(file_, file_->io_context(), 0, size);
  }
  /// What is on its way is waited for: it would find neither file nor client.
  ~read_ahead_file() override {
    drop_next();
    for (const asked_range& one : needed_)
      one.wait();
    if (whole_)
      whole_->wait();
  }

  arrow::Status Close() override { return file_->Close(); }
  bool closed() const override { return file_->closed(); }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t bytes,
                                void* out) override {
    ARROW_ASSIGN_OR_RAISE(bytes, within(position, bytes));
    if (whole_)
      return explained(copied(*whole_, position, bytes, out));
    const std::lock_guard lock(mutex_);
    if (const asked_range* one = asked_before(position, bytes))
      return explained(copied(*one, position, bytes, out));
    if (bytes >= large_read) {
      const asked_range all(file_, file_->io_context(), position, bytes);
      const auto got = explained(copied(all, position, bytes, out));
      all.wait();
      return got;
    }
    for (int64_t done = 0; done < bytes;) {
      const int64_t at = position + done;
      if (!window_ || !window_->holds(at))
        ARROW_RETURN_NOT_OK(move_window(at, bytes - done));
      ARROW_ASSIGN_OR_RAISE(
          const int64_t part,
          explained(copied(*window_, at,
                           std::min(bytes - done, window_->end() - at),
                           static_cast<char*>(out) + done)));
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
    return asked(context, position, *most)
        .Then([](const arrow_buffer& buffer) { return buffer; },
              [explain](
                  const arrow::Status& status) -> arrow::Result<arrow_buffer> {
                return with_detail(status, explain);
              });
  }
  /// What was named before and not read is dropped.
  arrow::Status
  WillNeed(const std::vector<arrow::io::ReadRange>& ranges) override {
    if (whole_)
      return arrow::Status::OK();
    const std::lock_guard lock(mutex_);
    std::vector<asked_range> now;
    for (const arrow::io::ReadRange& one : ranges) {
      ARROW_ASSIGN_OR_RAISE(const int64_t bytes,
                            within(one.offset, one.length));
      now.emplace_back(file_, file_->io_context(), one.offset, bytes);
    }
    for (const asked_range& one : needed_)
      one.wait();
    needed_ = std::move(now);
    return arrow::Status::OK();
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

  /// All `bytes`, which the range holds.
  static arrow::Result<int64_t>
  copied(const asked_range& from, int64_t position, int64_t bytes, void* out) {
    for (int64_t done = 0; done < bytes;) {
      ARROW_ASSIGN_OR_RAISE(const int64_t part,
                            from.copy(position + done, bytes - done,
                                      static_cast<char*>(out) + done));
      if (part == 0)
        return arrow::Status::IOError("the file has become shorter");
      done += part;
    }
    return bytes;
  }

  const asked_range* asked_before(int64_t position, int64_t bytes) const {
    for (const asked_range& one : needed_)
      if (one.holds(position, bytes))
        return &one;
    return nullptr;
  }

  arrow::Future<arrow_buffer> asked(const arrow::io::IOContext& context,
                                    int64_t position, int64_t bytes) {
    if (whole_)
      return whole_->part(position, bytes);
    const std::lock_guard lock(mutex_);
    if (const asked_range* one = asked_before(position, bytes))
      return one->part(position, bytes);
    return asked_range(file_, context, position, bytes).part(position, bytes);
  }

  /// To one that holds `position`, which is before the end of the file.
  arrow::Status move_window(int64_t position, int64_t bytes) {
    const bool goes_on = window_ && position == window_->end();
    if (!goes_on)
      drop_next();
    if (!next_) {
      width_ = std::max(window_min, bytes);
      ask(goes_on ? position : std::min(position, size() - footer_bytes));
    }
    window_ = std::exchange(next_, std::nullopt);
    const int64_t end = window_->end();
    if (goes_on && end < size()) {
      width_ = std::min(window_max, width_ * 2);
      ask(end);
    }
    return arrow::Status::OK();
  }

  void ask(int64_t position) {
    position = std::max<int64_t>(0, position);
    next_.emplace(file_, file_->io_context(), position,
                  std::min(width_, size() - position));
  }

  void drop_next() {
    if (window_)
      window_->wait();
    if (next_)
      next_->wait();
    next_.reset();
  }

  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  const std::function<failure(const arrow::Status&)> explain_;
  std::optional<asked_range> whole_; // then nothing else is used

  std::mutex mutex_;
  std::vector<asked_range> needed_; // by WillNeed
  std::optional<asked_range> window_;
  int64_t width_ = window_min;
  std::optional<asked_range> next_; // directly behind window_
};

} // namespace

std::shared_ptr<arrow::io::RandomAccessFile>
read_ahead(std::shared_ptr<arrow::io::RandomAccessFile> file, int64_t size,
           std::function<failure(const arrow::Status&)> explain, fetching how) {
  return std::make_shared<read_ahead_file>(std::move(file), size,
                                           std::move(explain), how);
}

} // namespace ballast::data
