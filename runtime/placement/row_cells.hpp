/// Cells of rows that have no label: groups of rows that look alike. They stand
/// for classes wherever rows are counted by label: in placements, in the
/// histograms of chunks, in balancing. The model never sees them.
///
/// k-means (Lloyd) from k-means++ centres (Arthur, Vassilvitskii, SODA 2007)
/// over some of the rows. Pure: the same rows make the same cells.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast {

constexpr uint32_t row_cells_max = 16;
/// So many rows, spread over all, say what cells there are.
constexpr size_t rows_looked_at_max = 4096;
/// What a row of tokens is looked at by, however long it is and however many
/// tokens there are.
constexpr size_t token_profile_size = 64;

/// How often each token occurs, as a part of the row; tokens share places where
/// there are more of them than places.
void token_profile(std::span<const float> tokens,
                   std::span<float, token_profile_size> out);

/// A row is a point of `dimensions` numbers.
class row_cells {
public:
  /// `points` one after another, at least one. Fewer cells where fewer points
  /// differ.
  row_cells(std::span<const float> points, size_t dimensions,
            uint32_t cells_max = row_cells_max);

  uint32_t count() const { return uint32_t(centres_.size() / dimensions_); }
  /// The nearest one, in [0, count()); the first of equally near ones.
  int32_t of(std::span<const float> point) const;

private:
  size_t dimensions_;
  std::vector<double> centres_;
};

} // namespace ballast
