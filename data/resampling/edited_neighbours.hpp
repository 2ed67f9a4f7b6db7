/// Rows that disagree with their neighbours, again and again while rows go:
/// what enn, renn and all_knn have in common. After rows have gone, only those
/// are looked at again whose answer rested on one of them.
///
/// One thread, which starts others for the search.
#pragma once

#include "data/neighbours/neighbourhood.hpp"
#include "runtime/graph/resampling_methods.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::data {

class edited_neighbours {
public:
  /// `rows`: those that are judged, by at most `most` neighbours. The index
  /// stays as long as this.
  edited_neighbours(const class_index& index, std::vector<uint32_t> rows,
                    size_t most, graph::agreement rule, work_terms how);

  /// Lets the rows go that disagree with their `k` nearest of those that are
  /// there. Returns how many.
  size_t edit(size_t k);
  /// 1 for each row that is gone.
  const std::vector<uint8_t>& gone() const { return gone_; }

private:
  void look_again();
  bool rests_on_gone(size_t at) const;
  std::vector<uint32_t> outvoted(const std::vector<uint32_t>& rows,
                                 size_t k) const;

  const class_index& index_;
  const graph::agreement rule_;
  const work_terms how_;
  std::vector<uint32_t> rows_; // that are there still
  neighbourhoods around_;      // of each of them
  std::vector<uint8_t> gone_;
  bool fresh_ = true;
};

/// Whether the most frequent class of these neighbours, of several the first,
/// is another one.
bool is_outvoted(const class_index& index, uint32_t of_class,
                 std::span<const neighbour> neighbours, size_t own_votes = 0);

} // namespace ballast::data
