/// Which rows of a source are kept for evaluation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ballast {

/// About `fraction` of the rows, chosen at random from `seed`, ascending; each
/// class gives its part (largest remainder) and keeps at least one row.
/// `labels` empty (regression): chosen from all rows alike. At least one row
/// where fraction > 0 and rows > 1.
std::vector<uint64_t> choose_test_rows(std::span<const int32_t> labels,
                                       uint32_t classes, uint64_t rows,
                                       double fraction, uint64_t seed);

/// The rows of [0, rows) that are not in `test` (ascending).
std::vector<uint64_t> rows_without(uint64_t rows,
                                   const std::vector<uint64_t>& test);

} // namespace ballast
