/// A remote file of which a request costs more than a megabyte: it is read in
/// blocks, of which the last few stay in memory. The columns of a chunk, and
/// small chunks that follow each other, so come by one request. Includes Arrow;
/// for source files of data/ only.
///
/// Any thread; one that lacks a block does not keep others from theirs. Errors:
/// Arrow's.
#pragma once

#include <arrow/io/interfaces.h>

#include <cstdint>
#include <memory>

namespace ballast::data {

struct block_terms {
  int64_t block_bytes = 1 << 20;
  size_t blocks_held = 16;
  /// Reads of so many bytes and more go through as they are.
  int64_t large_bytes = 4 << 20;
};

std::shared_ptr<arrow::io::RandomAccessFile>
in_blocks(std::shared_ptr<arrow::io::RandomAccessFile> file, int64_t size,
          const block_terms& how = {});

} // namespace ballast::data
