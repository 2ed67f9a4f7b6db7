/// Gathers rows of chunks into one dense batch: the copy from the data plane to
/// the model. Owns its memory and reuses it from step to step. Rows that are
/// images may be changed on their way (augmented_rows.hpp).
#pragma once

#include "data/store/chunk.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/sequence.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ballast::data {

class augmented_rows;
class chunk_store;

struct batch {
  uint32_t rows = 0;
  std::vector<float> features; // rows x row_shape.features
  std::vector<int64_t> labels; // classes
  std::vector<float> targets;  // regression
  std::vector<uint64_t> sample_ids;
  /// What becomes of rows that are images, which outlives this batch; null:
  /// rows are as they are stored. The owner of the batch says so.
  augmented_rows* images = nullptr;
  /// Of the rows, as the owner says; nothing: they are for evaluation.
  std::optional<epoch_number> epoch;
  /// Scratch of `gather`, empty outside of it.
  std::vector<row_place> places;
};

/// out = the rows in the given order, value = float(stored) * float(scale) +
/// float(offset), in float32, or what `out.images` makes of them. Throws
/// ballast_error{internal} that names a chunk missing from the store.
void gather(const chunk_store& store, data_part part,
            const ledger::row_shape& row, std::span<const ledger::row_ref> rows,
            batch& out);

/// The same of `out.places`, which all lie in chunks.
void gather_places(data_part part, const ledger::row_shape& row, batch& out);

/// out = rows [begin, begin + count) of one chunk, for evaluation.
void gather_range(const chunk& from, const ledger::row_shape& row,
                  uint32_t begin, uint32_t count, batch& out);

} // namespace ballast::data
