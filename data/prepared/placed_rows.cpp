#include "data/prepared/placed_rows.hpp"
#include "data/source/table_values.hpp"

#include "data/prepared/use_order.hpp"
#include "data/store/host_memory.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/job/placed_workers.hpp"
#include "runtime/placement/row_lists.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

namespace ballast::data {
namespace {

/// What the rows have, by sample; `room` holds it where these are not all rows.
template <class T>
std::span<const T> picked(std::span<const T> of_row, const row_numbers& rows,
                          std::vector<T>& room) {
  if (of_row.empty() || rows.are_all())
    return of_row;
  room.reserve(rows.size());
  for (uint64_t i = 0; i < rows.size(); ++i)
    room.push_back(of_row[rows[i]]);
  return room;
}

/// Of a chunk, where rows have weights: its uses are rounded to whole ones for
/// the run, by at most one, and so by a thirtieth.
constexpr double uses_least = 32;
/// Whatever that takes, a worker has so many chunks, and none is larger.
constexpr uint64_t chunks_of_worker_least = 2;
constexpr uint64_t chunk_bytes_most = uint64_t{64} << 20;

/// Of the training set, where the job leaves it open.
uint32_t chunk_rows_for_uses(const job& what, const job_tables& from) {
  const uint64_t rows = from.train_rows.rows.size();
  const uint32_t usual = chunk_rows_of(what, rows);
  if (what.data.chunk_rows || !what.train.sampling.is_weighted())
    return usual;
  const double wanted =
      std::ceil(uses_least * double(rows) / uses_in_epoch(what, from));
  if (wanted <= usual)
    return usual;
  const uint64_t row_bytes =
      std::max<uint64_t>(from.train.row.features, 1) * sizeof(float);
  const uint64_t most = std::max<uint64_t>(chunk_bytes_most / row_bytes, 1);
  const uint64_t workers = placed_workers(what);
  const uint64_t share = (rows + workers - 1) / workers;
  // All alike: the last one of a share is not to be the rest of the others.
  const uint64_t chunks =
      std::max(chunks_of_worker_least, uint64_t(double(share) / wanted));
  return std::max(usual,
                  uint32_t(std::min((share + chunks - 1) / chunks, most)));
}

/// Of a row: its number, and which chunk it is in.
constexpr uint64_t placed_row_bytes = 9;

} // namespace

uint32_t chunk_rows_of(const job& what, uint64_t rows) {
  return uint32_t(what.data.chunk_rows.value_or(
      balance::chunk_rows_for(rows, placed_workers(what))));
}

std::vector<balance::chunk_layout> place(const job& what,
                                         const job_tables& from) {
  const row_numbers& rows = from.train_rows.rows;
  check_memory_for(rows.size(), placed_row_bytes, "/data/train");
  std::vector<int32_t> some_labels;
  std::vector<int32_t> some_bins;
  std::vector<uint32_t> some_groups;
  const std::span<const int32_t> labels =
      picked<int32_t>(from.train.class_or_bin(), rows, some_labels);
  const std::span<const int32_t> counted_by =
      from.train.joint_bins.empty()
          ? labels
          : picked<int32_t>(from.train.histogram_bin(), rows, some_bins);
  const std::span<const uint32_t> groups =
      picked<uint32_t>(from.groups, rows, some_groups);
  const placement_spec& spec = what.data.placement;
  std::vector<double> all;
  std::vector<double> some;
  if (!spec.column.empty())
    all = column_values(from.train, spec.column, "/data/placement/column");
  const std::span<const double> column = picked<double>(all, rows, some);
  const placement::placement_rows of{rows.size(), labels, from.placement_bins,
                                     column, groups};
  if (failure mistake = placement_mistake(spec, of, placed_workers(what)))
    throw ballast_error(mistake);
  return balance::lay_out_chunks(
      spec,
      {rows.size(), counted_by, histogram_bins(from.train.row), column, groups},
      place_rows(spec, of, placed_workers(what), what.seed),
      chunk_rows_for_uses(what, from));
}

std::vector<std::vector<chunk_id>>
chunks_by_worker(const std::vector<balance::chunk_layout>& lists) {
  std::vector<std::vector<chunk_id>> out;
  uint32_t next_id = 0;
  for (const balance::chunk_layout& list : lists) {
    std::vector<chunk_id>& chunks = out.emplace_back();
    while (chunks.size() < list.chunk_rows.size())
      chunks.push_back(chunk_id(next_id++));
  }
  return out;
}

} // namespace ballast::data
