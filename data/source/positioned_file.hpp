/// A file for Arrow's readers of which only reads at a position are left to
/// write: the rest of its interface follows from them. Includes Arrow; for
/// source files of data/ only. Reads at a position may come from any thread,
/// reads in sequence from one.
#pragma once

#include <arrow/buffer.h>
#include <arrow/io/interfaces.h>
#include <arrow/result.h>

#include <algorithm>
#include <cstdint>
#include <memory>

namespace ballast::data {

class positioned_file : public arrow::io::RandomAccessFile {
public:
  using arrow::io::RandomAccessFile::ReadAsync;
  using arrow::io::RandomAccessFile::ReadAt;

  explicit positioned_file(int64_t size) : size_(size) {}

  arrow::Result<int64_t> Tell() const override { return at_; }
  arrow::Result<int64_t> GetSize() override { return size_; }
  arrow::Status Seek(int64_t position) override {
    if (position < 0)
      return arrow::Status::Invalid("a position before the begin of the file");
    at_ = position;
    return arrow::Status::OK();
  }
  arrow::Result<int64_t> Read(int64_t bytes, void* out) override {
    ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(at_, bytes, out));
    at_ += got;
    return got;
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t bytes) override {
    ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> out,
                          ReadAt(at_, bytes));
    at_ += out->size();
    return out;
  }

protected:
  int64_t size() const { return size_; }
  /// How many of these bytes there are before the end of the file.
  arrow::Result<int64_t> within(int64_t position, int64_t bytes) const {
    if (position < 0 || bytes < 0)
      return arrow::Status::Invalid("a negative position or length");
    return std::clamp<int64_t>(size_ - std::min(position, size_), 0, bytes);
  }

private:
  const int64_t size_;
  int64_t at_ = 0;
};

} // namespace ballast::data
