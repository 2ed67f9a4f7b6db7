#include "data/store/block_file.hpp"

#include "data/source/positioned_file.hpp"

#include <algorithm>
#include <arrow/buffer.h>
#include <condition_variable>
#include <cstring>
#include <list>
#include <mutex>

namespace ballast::data {

namespace {

using block_buffer = std::shared_ptr<arrow::Buffer>;

class block_file final : public positioned_file {
public:
  using positioned_file::ReadAt;

  block_file(std::shared_ptr<arrow::io::RandomAccessFile> file, int64_t size,
             const block_terms& how)
      : positioned_file(size), file_(std::move(file)), how_(how) {}

  arrow::Status Close() override { return file_->Close(); }
  bool closed() const override { return file_->closed(); }
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t bytes,
                                void* out) override {
    ARROW_ASSIGN_OR_RAISE(bytes, within(position, bytes));
    if (bytes >= how_.large_bytes)
      return file_->ReadAt(position, bytes, out);
    for (int64_t done = 0; done < bytes;) {
      const int64_t at = position + done;
      const int64_t number = at / how_.block_bytes;
      ARROW_ASSIGN_OR_RAISE(const block_buffer block, block_of(number));
      const int64_t begin = at - number * how_.block_bytes;
      const int64_t part = std::min(bytes - done, block->size() - begin);
      if (part <= 0)
        return done; // the file was cut
      std::memcpy(static_cast<char*>(out) + done, block->data() + begin,
                  size_t(part));
      done += part;
    }
    return bytes;
  }
  arrow::Result<block_buffer> ReadAt(int64_t position, int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(bytes, within(position, bytes));
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> out,
                          arrow::AllocateResizableBuffer(bytes));
    ARROW_ASSIGN_OR_RAISE(const int64_t got,
                          ReadAt(position, bytes, out->mutable_data()));
    ARROW_RETURN_NOT_OK(out->Resize(got));
    return out;
  }

private:
  struct held {
    int64_t number = 0;
    block_buffer bytes; // null: on its way
  };

  /// Whoever comes first asks for it; the others wait.
  arrow::Result<block_buffer> block_of(int64_t number) {
    std::unique_lock lock(mutex_);
    for (;;) {
      const auto found =
          std::find_if(blocks_.begin(), blocks_.end(),
                       [&](const held& one) { return one.number == number; });
      if (found == blocks_.end())
        break;
      if (found->bytes != nullptr) {
        blocks_.splice(blocks_.begin(), blocks_, found);
        return found->bytes;
      }
      changed_.wait(lock);
    }
    blocks_.push_front({number, nullptr});
    const auto mine = blocks_.begin(); // stays where it is
    lock.unlock();
    const int64_t begin = number * how_.block_bytes;
    arrow::Result<block_buffer> got =
        file_->ReadAt(begin, std::min(how_.block_bytes, size() - begin));
    lock.lock();
    if (got.ok())
      mine->bytes = *got;
    else
      blocks_.erase(mine);
    drop();
    lock.unlock();
    changed_.notify_all();
    return got;
  }

  /// Those that were used longest ago, but none that is on its way.
  void drop() {
    size_t count = blocks_.size();
    for (auto one = blocks_.end();
         count > how_.blocks_held && one != blocks_.begin();) {
      --one;
      if (one->bytes == nullptr)
        continue;
      one = blocks_.erase(one);
      --count;
    }
  }

  const std::shared_ptr<arrow::io::RandomAccessFile> file_;
  const block_terms how_;
  std::mutex mutex_; // guards the following
  std::condition_variable changed_;
  std::list<held> blocks_; // used last first
};

} // namespace

std::shared_ptr<arrow::io::RandomAccessFile>
in_blocks(std::shared_ptr<arrow::io::RandomAccessFile> file, int64_t size,
          const block_terms& how) {
  return std::make_shared<block_file>(std::move(file), size, how);
}

} // namespace ballast::data
