#include "data/source/asked_range.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace ballast::data {

namespace {

using arrow_buffer = std::shared_ptr<arrow::Buffer>;

/// Pieces behind each other, of which `skip` bytes in front are left out, as
/// one buffer of at most `bytes`.
arrow::Result<arrow_buffer>
joined(const std::vector<arrow::Result<arrow_buffer>>& pieces, int64_t skip,
       int64_t bytes) {
  for (const arrow::Result<arrow_buffer>& one : pieces)
    ARROW_RETURN_NOT_OK(one.status());
  if (pieces.size() == 1) {
    const arrow_buffer& only = pieces[0].ValueUnsafe();
    skip = std::min(skip, only->size());
    return arrow::SliceBuffer(only, skip, std::min(bytes, only->size() - skip));
  }
  ARROW_ASSIGN_OR_RAISE(std::shared_ptr<arrow::ResizableBuffer> out,
                        arrow::AllocateResizableBuffer(bytes));
  int64_t done = 0;
  for (const arrow::Result<arrow_buffer>& one : pieces) {
    const arrow_buffer& piece = one.ValueUnsafe();
    const int64_t from = std::min(skip, piece->size());
    const int64_t part = std::min(bytes - done, piece->size() - from);
    std::memcpy(out->mutable_data() + done, piece->data() + from, size_t(part));
    done += part;
    skip = 0;
    if (piece->size() < asked_range::piece_bytes)
      break; // the last one, or the file has become shorter
  }
  ARROW_RETURN_NOT_OK(out->Resize(done));
  return out;
}

} // namespace

asked_range::asked_range(
    const std::shared_ptr<arrow::io::RandomAccessFile>& file,
    const arrow::io::IOContext& context, int64_t begin, int64_t bytes)
    : begin_(begin), bytes_(bytes) {
  for (int64_t at = 0; at < bytes; at += piece_bytes)
    pieces_.push_back(file->ReadAsync(context, begin + at,
                                      std::min(piece_bytes, bytes - at)));
}

arrow::Result<int64_t> asked_range::copy(int64_t position, int64_t bytes,
                                         void* out) const {
  const int64_t at = position - begin_;
  ARROW_ASSIGN_OR_RAISE(const arrow_buffer piece,
                        pieces_[size_t(at / piece_bytes)].result());
  const int64_t from = std::min(at % piece_bytes, piece->size());
  const int64_t part = std::min(bytes, piece->size() - from);
  std::memcpy(out, piece->data() + from, size_t(part));
  return part;
}

arrow::Future<arrow_buffer> asked_range::part(int64_t position,
                                              int64_t bytes) const {
  if (bytes == 0)
    return arrow::Future<arrow_buffer>::MakeFinished(
        std::make_shared<arrow::Buffer>(nullptr, 0));
  const int64_t at = position - begin_;
  const auto first = pieces_.begin() + at / piece_bytes;
  const auto last = pieces_.begin() + (at + bytes - 1) / piece_bytes;
  return arrow::All(std::vector(first, last + 1))
      .Then([skip = at % piece_bytes,
             bytes](const std::vector<arrow::Result<arrow_buffer>>& pieces) {
        return joined(pieces, skip, bytes);
      });
}

void asked_range::wait() const {
  for (const auto& one : pieces_)
    one.Wait();
}

} // namespace ballast::data
