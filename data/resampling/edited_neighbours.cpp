#include "data/resampling/edited_neighbours.hpp"

#include "data/neighbours/nearest.hpp"

#include <algorithm>
#include <utility>

namespace ballast::data {

edited_neighbours::edited_neighbours(const class_index& index,
                                     std::vector<uint32_t> rows, size_t most,
                                     graph::agreement rule, work_terms how)
    : index_(index), rule_(rule), how_(std::move(how)), rows_(std::move(rows)),
      around_(look_around(index, rows_, most, how_)),
      gone_(index.points().rows) {}

size_t edited_neighbours::edit(size_t k) {
  if (!fresh_)
    look_again();
  std::vector<uint32_t> leaving;
  for (size_t i = 0; i < rows_.size(); ++i)
    if (around_.has_foreign(i, k))
      leaving.push_back(rows_[i]);
  if (rule_ == graph::agreement::mode)
    leaving = outvoted(leaving, k);
  for (const uint32_t row : leaving)
    gone_[row] = 1;
  size_t to = 0;
  const size_t most = around_.most;
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (gone_[rows_[i]] != 0)
      continue;
    rows_[to] = rows_[i];
    around_.foreign[to] = around_.foreign[i];
    std::copy_n(around_.own.begin() + long(i * most), most,
                around_.own.begin() + long(to * most));
    ++to;
  }
  rows_.resize(to);
  around_.foreign.resize(to);
  around_.own.resize(to * most);
  fresh_ = leaving.empty();
  return leaving.size();
}

bool edited_neighbours::rests_on_gone(size_t at) const {
  const auto is_gone = [this](const neighbour& one) {
    return one.row != no_row && gone_[one.row] != 0;
  };
  return is_gone(around_.foreign[at]) ||
         std::ranges::any_of(around_.own_of(at), is_gone);
}

void edited_neighbours::look_again() {
  std::vector<uint32_t> rows;
  std::vector<size_t> places;
  for (size_t i = 0; i < rows_.size(); ++i)
    if (rests_on_gone(i)) {
      rows.push_back(rows_[i]);
      places.push_back(i);
    }
  const size_t most = around_.most;
  const neighbourhoods now = look_around(index_, rows, most, how_, gone_);
  for (size_t i = 0; i < rows.size(); ++i) {
    around_.foreign[places[i]] = now.foreign[i];
    std::ranges::copy(now.own_of(i),
                      around_.own.begin() + long(places[i] * most));
  }
}

/// Only rows with a foreign neighbour can be; of these all are needed.
std::vector<uint32_t>
edited_neighbours::outvoted(const std::vector<uint32_t>& rows, size_t k) const {
  const neighbour_table table =
      nearest(index_, rows, index_.all(), k, how_, gone_);
  std::vector<uint32_t> out;
  for (size_t i = 0; i < rows.size(); ++i)
    if (is_outvoted(index_, index_.class_of(rows[i]), table.of(i)))
      out.push_back(rows[i]);
  return out;
}

bool is_outvoted(const class_index& index, uint32_t of_class,
                 std::span<const neighbour> neighbours, size_t own_votes) {
  std::vector<uint32_t> votes(own_votes, of_class);
  for (const neighbour& one : neighbours)
    if (one.row != no_row)
      votes.push_back(index.class_of(one.row));
  std::sort(votes.begin(), votes.end());
  size_t most = 0;
  uint32_t winner = of_class;
  for (size_t i = 0; i < votes.size();) {
    size_t end = i;
    while (end < votes.size() && votes[end] == votes[i])
      ++end;
    if (end - i > most) {
      most = end - i;
      winner = votes[i];
    }
    i = end;
  }
  return winner != of_class;
}

} // namespace ballast::data
