#include "runtime/balance/chunk_layout.hpp"

#include "runtime/balance/quota.hpp"
#include "runtime/placement/whole_groups.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace ballast::balance {

namespace {

/// A list counts as mixed below this multiple of the expected skew of a sample
/// of its size.
constexpr double mixed_floors = 2;
/// The number of chunks that a list may have; above it, at most twice as many
/// as it needs.
constexpr size_t chunks_free = 32;
/// Rows of a chunk, and chunks of a share, if the job leaves them open.
constexpr uint64_t rows_usual = 256;
constexpr uint64_t rows_most = 1'048'576;
constexpr uint64_t chunks_least = 32;
constexpr uint64_t chunks_most = 4'096;

void count_chunks(chunk_layout& of, size_t rows, uint32_t chunk_rows) {
  for (size_t at = 0; at < rows; at += chunk_rows)
    of.chunk_rows.push_back(uint32_t(std::min<size_t>(chunk_rows, rows - at)));
}

void append(chunk_layout& to, const std::vector<uint64_t>& rows,
            uint32_t chunk_rows) {
  to.rows.insert(to.rows.end(), rows.begin(), rows.end());
  count_chunks(to, rows.size(), chunk_rows);
}

chunk_layout class_by_class(const std::vector<uint64_t>& rows,
                            const placement::placement_rows& of,
                            uint32_t chunk_rows) {
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

/// The most frequent class of these rows.
int32_t usual_class(const std::vector<uint64_t>& rows,
                    const placement::placement_rows& of) {
  std::map<int32_t, size_t> times;
  for (uint64_t row : rows)
    ++times[of.labels[row]];
  return std::max_element(
             times.begin(), times.end(),
             [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

/// As many whole groups in a chunk as fit, at least one; groups with the same
/// most frequent class are adjacent.
chunk_layout group_by_group(const std::vector<uint64_t>& rows,
                            const placement::placement_rows& of,
                            uint32_t chunk_rows, bool sorted) {
  const std::vector<std::vector<uint64_t>> groups =
      placement::rows_by_group(rows, of.groups);
  std::vector<std::pair<int32_t, size_t>> order; // by frequent class, stable
  for (size_t index = 0; index < groups.size(); ++index)
    order.emplace_back(sorted ? usual_class(groups[index], of) : 0, index);
  std::sort(order.begin(), order.end());
  chunk_layout out;
  for (const auto& [label, index] : order) {
    const std::vector<uint64_t>& group = groups[index];
    out.rows.insert(out.rows.end(), group.begin(), group.end());
    if (out.chunk_rows.empty() ||
        out.chunk_rows.back() + group.size() > chunk_rows)
      out.chunk_rows.push_back(0);
    out.chunk_rows.back() += uint32_t(group.size());
  }
  return out;
}

} // namespace

uint32_t chunk_rows_for(uint64_t rows, uint32_t workers) {
  const uint64_t share = rows / workers;
  const uint64_t most = std::max<uint64_t>(1, share / chunks_least);
  const uint64_t least =
      std::min(share / chunks_most + (share % chunks_most != 0), rows_most);
  return uint32_t(std::max(least, std::min(rows_usual, most)));
}

chunk_layout cut_in_order(std::vector<uint64_t> rows, uint32_t chunk_rows) {
  chunk_layout out;
  count_chunks(out, rows.size(), chunk_rows);
  out.rows = std::move(rows);
  return out;
}

std::vector<chunk_layout>
lay_out_chunks(const placement_spec& spec, const placement::placement_rows& of,
               std::vector<std::vector<uint64_t>> lists, uint32_t chunk_rows) {
  const bool file_order = spec.kind == placement_kind::contiguous ||
                          spec.kind == placement_kind::sizes;
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
    const bool keep_order = skewed[rank] <= mixed_floors * by_chance ||
                            file_order || of.classes < 2;
    if (!of.groups.empty())
      out.push_back(group_by_group(lists[rank], of, chunk_rows, !keep_order));
    else
      out.push_back(keep_order
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

} // namespace ballast::balance
