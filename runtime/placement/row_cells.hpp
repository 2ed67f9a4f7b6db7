/// Cells: clusters of similar rows, for rows without a label. They take the
/// place of classes wherever rows are counted by label: in placements, in the
/// histograms of chunks, in balancing. The model never sees them.
///
/// k-means (Lloyd) from k-means++ centres (Arthur, Vassilvitskii, SODA 2007)
/// over a sample of the rows. Pure: equal rows give equal cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::placement {

constexpr uint32_t row_cells_max = 16;
/// Size of the sample, spread over all rows.
constexpr size_t rows_looked_at_max = 4096;
/// Dimensions of a token row's profile, independent of its length and of the
/// vocabulary.
constexpr size_t token_profile_size = 64;

/// The relative frequency of each token in the row; if there are more tokens
/// than dimensions, tokens share them.
void token_profile(std::span<const float> tokens,
                   std::span<float, token_profile_size> out);

/// A row is a point of `dimensions` numbers.
class row_cells {
public:
  /// `points` are stored one after another; at least one. If fewer points
  /// differ, there are fewer cells.
  row_cells(std::span<const float> points, size_t dimensions,
            uint32_t cells_max = row_cells_max);

  uint32_t count() const { return uint32_t(centres_.size() / dimensions_); }
  /// The nearest centre, in [0, count()); the first of equally near ones.
  int32_t of(std::span<const float> point) const;

private:
  size_t dimensions_;
  std::vector<double> centres_;
};

} // namespace ballast::placement
