#include "runtime/chunk_layout.hpp"

#include "runtime/balance/quota.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ballast {

namespace {

/// Less than this many times what a sample of its size has by chance: mixed.
constexpr double mixed_floors = 2;
/// Of a class less than this part of a chunk is no chunk of its own.
constexpr uint32_t least_part = 16;
/// So many chunks a list may have, or twice as many as it needs.
constexpr size_t chunks_free = 32;

struct split_rows {
  std::vector<uint64_t> mixed;
  std::vector<std::vector<uint64_t>> surplus; // by class
};

/// Every class spread evenly over all.
std::vector<uint64_t>
spread(const std::vector<std::vector<uint64_t>>& of_class) {
  std::vector<std::pair<double, uint64_t>> order;
  for (const std::vector<uint64_t>& some : of_class)
    for (size_t i = 0; i < some.size(); ++i)
      order.emplace_back((double(i) + 0.5) / double(some.size()), some[i]);
  std::stable_sort(
      order.begin(), order.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<uint64_t> out;
  for (const auto& [where, row] : order)
    out.push_back(row);
  return out;
}

split_rows split(const std::vector<uint64_t>& rows, const placement_rows& of,
                 const std::vector<uint64_t>& global, uint32_t chunk_rows) {
  std::vector<std::vector<uint64_t>> of_class(of.classes);
  for (uint64_t row : rows)
    of_class[size_t(of.labels[row])].push_back(row);
  split_rows out;
  for (size_t label = 0; label < of_class.size(); ++label) {
    std::vector<uint64_t>& all = of_class[label];
    const auto usual = size_t(std::ceil(
        double(rows.size()) * double(global[label]) / double(of.rows)));
    std::vector<uint64_t>& more = out.surplus.emplace_back();
    if (all.size() < usual + std::max(1u, chunk_rows / least_part))
      continue;
    more.assign(all.begin() + ptrdiff_t(usual), all.end());
    all.resize(usual);
  }
  out.mixed = spread(of_class);
  return out;
}

size_t chunks_for(size_t rows, uint32_t chunk_rows) {
  return (rows + chunk_rows - 1) / chunk_rows;
}

void append(chunk_layout& to, const std::vector<uint64_t>& rows,
            uint32_t chunk_rows) {
  to.rows.insert(to.rows.end(), rows.begin(), rows.end());
  for (size_t at = 0; at < rows.size(); at += chunk_rows)
    to.chunk_rows.push_back(
        uint32_t(std::min<size_t>(chunk_rows, rows.size() - at)));
}

chunk_layout by_surplus(const split_rows& rows, uint32_t chunk_rows) {
  size_t all = rows.mixed.size();
  size_t chunks = chunks_for(all, chunk_rows);
  for (const std::vector<uint64_t>& some : rows.surplus) {
    all += some.size();
    chunks += chunks_for(some.size(), chunk_rows);
  }
  chunk_layout out;
  if (chunks <= std::max(chunks_free, 2 * chunks_for(all, chunk_rows))) {
    append(out, rows.mixed, chunk_rows);
    for (const std::vector<uint64_t>& some : rows.surplus)
      append(out, some, chunk_rows);
    return out;
  }
  std::vector<uint64_t> joined = rows.mixed;
  for (const std::vector<uint64_t>& some : rows.surplus)
    joined.insert(joined.end(), some.begin(), some.end());
  return cut_in_order(std::move(joined), chunk_rows);
}

} // namespace

chunk_layout cut_in_order(std::vector<uint64_t> rows, uint32_t chunk_rows) {
  chunk_layout out;
  append(out, rows, chunk_rows);
  return out;
}

std::vector<chunk_layout>
lay_out_chunks(const placement_spec& spec, const placement_rows& of,
               std::vector<std::vector<uint64_t>> lists, uint32_t chunk_rows) {
  const bool file_order = spec.kind == "contiguous" || spec.kind == "sizes";
  std::vector<uint64_t> global(of.classes);
  label_counts held(lists.size(), of.classes);
  for (size_t rank = 0; rank < lists.size() && !of.labels.empty(); ++rank)
    for (uint64_t row : lists[rank]) {
      const auto label = size_t(of.labels[row]);
      ++global[label];
      ++held.at(rank, label);
    }
  const std::vector<double> skewed = skews(held);
  std::vector<chunk_layout> out;
  for (size_t rank = 0; rank < lists.size(); ++rank) {
    const double by_chance = skew_by_chance(global, lists[rank].size());
    const bool mixed = skewed[rank] <= mixed_floors * by_chance;
    out.push_back(mixed || file_order || of.classes < 2
                      ? cut_in_order(std::move(lists[rank]), chunk_rows)
                      : by_surplus(split(lists[rank], of, global, chunk_rows),
                                   chunk_rows));
  }
  return out;
}

std::vector<std::span<const uint64_t>>
chunks_of(const std::vector<chunk_layout>& lists) {
  std::vector<std::span<const uint64_t>> out;
  for (const chunk_layout& list : lists) {
    std::span<const uint64_t> rest(list.rows);
    for (uint32_t rows : list.chunk_rows) {
      out.push_back(rest.first(rows));
      rest = rest.subspan(rows);
    }
  }
  return out;
}

} // namespace ballast
