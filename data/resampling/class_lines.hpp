/// Rows on the lines between rows of a class, for the methods that add such
/// rows. A made row has numbers of its own, by the class and its place among
/// those made of it. For data/resampling/ only; one thread.
#pragma once

#include "data/neighbours/nearest.hpp"
#include "data/resampling/resampling_task.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ballast::data {

/// How many neighbours rows of a class can have; nothing: its rows are
/// repeated. Refuses a class that is too small as `k_policy` says.
std::optional<size_t> neighbours_of(const resampling_task& task, uint32_t c,
                                    const char* option);

/// `count` rows made of a class, the first of which is number `first` of it.
class class_lines {
public:
  class_lines(const resampling_task& task, uint32_t of_class, uint64_t count,
              uint64_t first = 0);

  /// Rows of the class as they are.
  std::vector<made_row> repeated() const;
  /// Each from any row, to any of its neighbours.
  std::vector<made_row> from_any(std::span<const uint32_t> rows,
                                 const neighbour_table& table) const;
  /// So many from each row.
  std::vector<made_row> from_each(std::span<const uint32_t> rows,
                                  std::span<const uint64_t> counts,
                                  const neighbour_table& table) const;
  /// Of lines to other classes the first half.
  void shorten(std::vector<made_row>& lines) const;

private:
  /// The first of the numbers of row i.
  uint64_t number_of(uint64_t i) const;

  const resampling_task& task_;
  const uint32_t of_;
  const uint64_t count_;
  const uint64_t first_;
  const counter_random random_;
};

/// `total` by these weights, exactly: the largest remainders get what rounding
/// down leaves, of equal ones the first.
std::vector<uint64_t> shares(const std::vector<uint64_t>& weights,
                             uint64_t total);
/// The same of weights that are no whole numbers; their sum is above 0.
std::vector<uint64_t> shares(const std::vector<double>& weights,
                             uint64_t total);

/// The values of made rows, each from the two at the ends of its line.
std::vector<double> drawn_lines(const resampling_task& task,
                                const std::vector<made_row>& made);

} // namespace ballast::data
