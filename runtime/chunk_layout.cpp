#include "runtime/chunk_layout.hpp"

#include "runtime/balance/quota.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

namespace {

/// Less than this many times what a sample of its size has by chance: mixed.
constexpr double mixed_floors = 2;
/// So many chunks a list may have, or twice as many as it needs.
constexpr size_t chunks_free = 32;

void append(chunk_layout& to, const std::vector<uint64_t>& rows,
            uint32_t chunk_rows) {
  to.rows.insert(to.rows.end(), rows.begin(), rows.end());
  for (size_t at = 0; at < rows.size(); at += chunk_rows)
    to.chunk_rows.push_back(
        uint32_t(std::min<size_t>(chunk_rows, rows.size() - at)));
}

chunk_layout class_by_class(const std::vector<uint64_t>& rows,
                            const placement_rows& of, uint32_t chunk_rows) {
  std::vector<std::vector<uint64_t>> of_class(of.classes);
  for (uint64_t row : rows)
    of_class[size_t(of.labels[row])].push_back(row);
  chunk_layout out;
  for (const std::vector<uint64_t>& some : of_class)
    append(out, some, chunk_rows);
  const size_t full = (rows.size() + chunk_rows - 1) / chunk_rows;
  return out.chunk_rows.size() <= std::max(chunks_free, 2 * full)
             ? out
             : cut_in_order(std::move(out.rows), chunk_rows);
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
                      : class_by_class(lists[rank], of, chunk_rows));
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
