/// A chunk in memory: one Arrow record batch with columns
///   features    fixed_size_list<stored type>[features]
///   label       int32 class, or float32 target
///   sample_id   uint64
/// plus raw pointers into it, for gathering without Arrow calls.
/// Immutable and shared; safe to read from any thread.
#pragma once

#include "runtime/ids.hpp"
#include "runtime/manifest.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace arrow {
class Buffer;
class RecordBatch;
} // namespace arrow

namespace ballast {

/// Which of the two sets a chunk belongs to.
enum class data_part : uint8_t { train, test };

struct chunk {
  chunk_id id{};
  uint32_t rows = 0;
  std::shared_ptr<arrow::RecordBatch> batch; // keeps the pointers alive
  const void* features = nullptr;            // rows x features, stored type
  const int32_t* labels = nullptr;           // null for regression
  const float* targets = nullptr;            // null for classes
  const uint64_t* sample_ids = nullptr;
  uint64_t bytes = 0; // memory held
};
using chunk_ptr = std::shared_ptr<const chunk>;

/// Wraps a record batch; ballast_error{invalid_data} if its columns are not as
/// `row` says.
chunk_ptr make_chunk(chunk_id id, const row_shape& row,
                     std::shared_ptr<arrow::RecordBatch> batch);

/// 64-bit content hash (XXH64-like, own code, stable over versions) as 16 hex
/// digits: the checksum of a chunk's Arrow IPC message.
std::string checksum(const void* data, size_t bytes);

} // namespace ballast
