/// Selects the rows of a source that are kept for evaluation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ballast::data {

/// About `fraction` of the rows, drawn at random from `seed`, ascending, in
/// proportion from each class (largest remainder), which keeps at least one row
/// for training. `labels` empty (regression): drawn from all rows alike. At
/// least one row if fraction > 0 and rows > 1.
std::vector<uint64_t> choose_test_rows(std::span<const int32_t> labels,
                                       uint32_t classes, uint64_t rows,
                                       double fraction, uint64_t seed);

} // namespace ballast::data
