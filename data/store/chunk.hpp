/// A chunk in memory. It travels and is stored as an Arrow record batch with
/// the columns
///   features    fixed_size_list<stored type>[features]
///   label       int32 class, or float32 target
///   sample_id   uint64
/// and is held as raw pointers to their values: gathering needs no Arrow calls,
/// and the objects of a batch take 4 KB, as much as the rows of a small chunk.
/// Immutable and shared; safe to read from any thread.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace arrow {
class Buffer;
class RecordBatch;
class Schema;
} // namespace arrow

namespace ballast::data {

/// The set that a chunk belongs to.
enum class data_part : uint8_t { train, test };
std::string to_string(data_part part);

struct chunk {
  chunk_id id{};
  uint32_t rows = 0;
  std::shared_ptr<const void> memory;    // keeps the pointers alive
  std::shared_ptr<arrow::Schema> schema; // of the columns above
  const void* features = nullptr;        // rows x features, stored type
  const int32_t* labels = nullptr;       // null for regression
  const float* targets = nullptr;        // null for classes
  const uint64_t* sample_ids = nullptr;
  uint64_t bytes = 0; // memory in use
};
using chunk_ptr = std::shared_ptr<const chunk>;

/// Where a row lies in memory: its chunk, or a few rows of several chunks that
/// were fetched apart from them. Null: nowhere.
struct row_place {
  chunk_ptr in;
  uint32_t row = 0;
};

/// Wraps a record batch; ballast_error{invalid_data} if its columns do not
/// match `row`.
chunk_ptr make_chunk(chunk_id id, const ledger::row_shape& row,
                     std::shared_ptr<arrow::RecordBatch> batch);

/// Its columns, over its own memory, which stays as long as they do.
std::shared_ptr<arrow::RecordBatch> batch_of(const chunk& what);

/// Itself; or if it is small, a copy whose memory is one block.
chunk_ptr compact(chunk_ptr what);

/// Rows [begin, begin + rows) of a batch that holds several chunks in a row, as
/// the chunk `id`. The memory of all of them stays as long as one of them is
/// used. Precondition: the rows are there.
chunk_ptr chunk_within(const chunk& several, chunk_id id, uint32_t begin,
                       uint32_t rows, const ledger::row_shape& row);

/// Bytes of one value of a stored type.
size_t stored_bytes(ledger::stored_type stored);
/// Bytes of a row's features as they are stored.
size_t row_bytes(const ledger::row_shape& row);

/// The columns above, for `row`.
std::shared_ptr<arrow::Schema> chunk_schema(const ledger::row_shape& row);

/// Columns for a new chunk: rows x features values of the stored type, and
/// labels or targets.
struct chunk_columns {
  std::vector<unsigned char> features;
  std::vector<int32_t> labels;
  std::vector<float> targets;
  std::vector<uint64_t> sample_ids;
};
/// Takes ownership of the columns without copying them.
std::shared_ptr<arrow::RecordBatch> make_batch(const ledger::row_shape& row,
                                               chunk_columns columns);
/// The same, where the schema is known.
std::shared_ptr<arrow::RecordBatch>
make_batch(std::shared_ptr<arrow::Schema> schema, chunk_columns columns);

/// A copy with one byte flipped, as by broken memory or network, so that its
/// checksum differs. For fault injection.
chunk_ptr damaged_copy(const chunk& what);

/// 64-bit content hash (XXH64, by libxxhash, stable across versions) as 16 hex
/// digits.
std::string checksum(const void* data, size_t bytes);

/// The checksum of a chunk: over the values of its columns, one after another
/// (features, label, sample_id). It is therefore independent of Arrow's
/// framing, and a received chunk is checked in place.
std::string checksum(const chunk& what, const ledger::row_shape& row);
/// The same, of a record batch that has the columns above.
std::string checksum(const arrow::RecordBatch& of);

} // namespace ballast::data
