/// Bytes of a remote file that were asked for, in pieces of 1 MiB side by side:
/// one connection alone needs several round trips until it is fast; larger
/// ones, 24 at once, wait for their first byte longer than the client of S3
/// does (3 s) where a line is slow. Includes Arrow; for source files of data/
/// only.
///
/// A value of one thread; the answers come on Arrow's. Errors: those of the
/// file, of the first piece that failed.
#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>
#include <arrow/util/future.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace ballast::data {

class asked_range {
public:
  static constexpr int64_t piece_bytes = 1 << 20;

  asked_range() = default;
  /// Asks for all of it at once; `bytes` end within the file.
  asked_range(const std::shared_ptr<arrow::io::RandomAccessFile>& file,
              const arrow::io::IOContext& context, int64_t begin,
              int64_t bytes);

  int64_t end() const { return begin_ + bytes_; }
  bool holds(int64_t position, int64_t bytes = 1) const {
    return position >= begin_ && position + bytes <= end();
  }
  /// Waits for the piece at `position`, which it holds, and copies of that
  /// piece up to `bytes`. 0: the file has become shorter.
  arrow::Result<int64_t> copy(int64_t position, int64_t bytes, void* out) const;
  /// Some of it, as one buffer, once all of its pieces are there; fewer bytes
  /// where the file has become shorter.
  arrow::Future<std::shared_ptr<arrow::Buffer>> part(int64_t position,
                                                     int64_t bytes) const;
  /// Until nothing of it is on its way.
  void wait() const;

private:
  int64_t begin_ = 0;
  int64_t bytes_ = 0;
  std::vector<arrow::Future<std::shared_ptr<arrow::Buffer>>> pieces_;
};

} // namespace ballast::data
