#include "data/prepared/job_tables.hpp"
#include "data/source/table_values.hpp"

#include "data/graph/graph_sources.hpp"
#include "data/graph/temporary_folder.hpp"
#include "data/operators/removed_rows.hpp"
#include "data/operators/row_origin.hpp"
#include "data/prepared/fragment_pool.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/prepared_folder.hpp"
#include "data/prepared/set_identity.hpp"
#include "data/prepared/set_rows.hpp"
#include "data/prepared/test_split.hpp"
#include "data/prepared/use_order.hpp"
#include "data/source/row_faults.hpp"
#include "data/store/host_memory.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/placement/joint_bins.hpp"
#include "runtime/placement/row_cells.hpp"
#include "runtime/placement/target_bins.hpp"

#include <algorithm>
#include <array>
#include <arrow/memory_pool.h>
#include <fstream>
#include <iterator>
#include <utility>

namespace ballast::data {

namespace {

std::array<float, placement::token_profile_size>
profile_of(std::span<const float> tokens) {
  std::array<float, placement::token_profile_size> out{};
  placement::token_profile(tokens, out);
  return out;
}

/// The cells of the training rows.
placement::row_cells token_cells(const source_table& table,
                                 const row_numbers& rows) {
  const size_t taken =
      std::min<size_t>(rows.size(), placement::rows_looked_at_max);
  std::vector<float> points;
  std::vector<float> tokens(table.row.features);
  for (size_t i = 0; i < taken; ++i) {
    row_values(table, rows[i * rows.size() / taken], tokens);
    const auto point = profile_of(tokens);
    points.insert(points.end(), point.begin(), point.end());
  }
  return placement::row_cells(points, placement::token_profile_size);
}

void put_into_cells(const placement::row_cells& cells, source_table& table) {
  std::vector<int32_t> out(table.rows);
  for_each_place(table, [&](uint64_t place, std::span<const float> tokens) {
    out[place] = cells.of(profile_of(tokens));
  });
  table.target_bins = by_row(table, std::move(out));
}

std::string read_quarantine(const prepared_set& of) {
  const std::filesystem::path path = of.folder() / quarantine_name;
  std::ifstream in(path, std::ios::binary);
  std::string out(std::istreambuf_iterator<char>(in), {});
  if (!in)
    throw damaged_set(path.string() + ": cannot be read");
  return out;
}

void tell_unusable(const job& what, const source_table& from, uint64_t row,
                   const unusable_sample& why, row_faults& faults) {
  const bool in_graph = what.data.train.format == source_format::graph;
  const uint64_t number = from.source_row(row);
  row_fault out;
  out.source =
      in_graph
          ? names_of_sources(what.data).at(size_t(number / rows_of_source_max))
          : "train";
  out.row = number % rows_of_source_max + 1;
  for (const source_table::file& one : from.files)
    if (one.first_row <= number) {
      out.file = one.path;
      out.row = number - one.first_row + 1;
    }
  if (in_graph)
    out.step = what.data.train.from;
  out.column = what.train.sampling.column;
  out.reason = why.cell.empty()
                   ? "the value is missing; expected " + why.expected
                   : "train.sampling expected " + why.expected;
  out.values = {{out.column, why.cell}};
  if (in_graph)
    faults.add(number, out);
  else
    faults.add(out);
}

} // namespace

rows_left_out left_out_by(job what, const store::work_watch& stop) {
  constexpr uint64_t part = 4;                   // as when a set is prepared
  what.data.on_error = error_policy::quarantine; // with the lines
  const rows_folder folder = rows_folder::make();
  write_options how{folder.path(), available_memory_bytes() / part, stop};
  job_tables tables(what, how);
  return {tables.rejected.value_or(ledger::rejected_rows{}),
          std::move(tables.quarantine)};
}

job_tables::job_tables(const job& what, const write_options& how) {
  read(what, how);
  // Nothing of what the formats were read with is needed any more.
  arrow::default_memory_pool()->ReleaseUnused();
  divide(what);
  count_shared_origins(what.data);
}

job_tables::job_tables(const job& what,
                       std::shared_ptr<const prepared_set> same_rows,
                       const write_options& how) {
  rejected = same_rows->about().rejected;
  if (rejected && rejected->kept > 0)
    quarantine = read_quarantine(*same_rows);
  const std::vector<std::string> columns = columns_of_set(same_rows->folder());
  tables_of_set from(std::make_shared<const set_source>(
                         std::move(same_rows), set_source::samples::needed),
                     what.data.test.has_value(), how);
  train = std::move(from.train);
  train.columns = columns;
  test = std::move(from.test);
  choose_rows(what);
  divide(what);
  count_shared_origins(what.data);
}

void job_tables::read(const job& what, const write_options& how) {
  std::optional<row_faults> faults = row_faults::of(what.data);
  const auto removed = removed_rows::of(what.data);
  row_faults* const bad = faults ? &*faults : nullptr;
  read_sources(what, how, bad, removed.get());
  choose_rows(what);
  if (bad != nullptr)
    leave_out_unusable(what, *bad);
  const ledger::rejected_rows counts = left_out_counts(bad, removed.get());
  if (counts.read == 0)
    return; // nothing of such sources can be left out
  rejected = counts;
  quarantine = left_out_lines(bad, removed.get());
}

void job_tables::read_sources(const job& what, const write_options& how,
                              row_faults* faults, removed_rows* removed) {
  source_request request;
  request.faults = faults;
  request.removed = removed;
  request.stop = how.stop;
  request.room = {how.memory, how.folder / "rows", refuse_write};
  request.kept = kept_columns(what);
  request.label = label_of(what);
  request.seed = what.seed;
  request.data = &what.data;
  request.nodes = how.nodes;
  request.spill = how.folder;
  request.found = how.found;
  request.fitted = std::make_shared<fitted_states>();
  const auto read = [&](const source_spec& spec) {
    const std::unique_ptr<fragment_supply> apart =
        how.files ? how.files->of(request.pointer) : nullptr;
    request.fragments = apart.get();
    return read_source(spec, request);
  };
  train = read(what.data.train);
  if (what.data.test)
    read_test(what, how, request, read);
  states = request.fitted->all();
  notes = request.fitted->notes();
}

void job_tables::read_test(
    const job& what, const write_options& how, source_request& request,
    const std::function<source_table(const source_spec&)>& read) {
  request.test = true;
  request.pointer = "/data/test";
  request.like = &train;
  // Groups and weights are those of `train`.
  request.kept.resize(what.balance.by.size());
  // Of what the training set leaves, but enough to get on with.
  constexpr uint64_t least = 8;
  request.room.bytes = std::max(
      how.memory / least,
      how.memory - std::min<uint64_t>(how.memory, train.features.size()));
  test = read(*what.data.test);
  const ledger::stored_type stored =
      wider_type(train.row.stored, test->row.stored);
  widen(train, stored);
  widen(*test, stored);
}

/// Which are the training rows, and which the test rows.
void job_tables::choose_rows(const job& what) {
  train_rows.table = test_rows.table = &train;
  if (test) {
    test_rows = {&*test, row_numbers::all(test->rows)};
    train_rows.rows = row_numbers::all(train.rows);
  } else {
    const std::vector<uint64_t> chosen =
        choose_test_rows(train.labels, train.row.classes, train.rows,
                         what.data.test_fraction, what.seed);
    test_rows.rows = row_numbers::some(chosen);
    train_rows.rows = row_numbers::without(train.rows, chosen);
  }
}

/// Training rows that `train.sampling` cannot use. The sampling of the test
/// rows does not count.
void job_tables::leave_out_unusable(const job& what, row_faults& faults) {
  const std::vector<unusable_sample> unusable = unusable_samples(what, *this);
  if (unusable.empty())
    return;
  std::vector<uint64_t> others;
  others.reserve(train_rows.rows.size() - unusable.size());
  auto next = unusable.begin();
  for (uint64_t i = 0; i < train_rows.rows.size(); ++i) {
    const uint64_t row = train_rows.rows[i];
    if (next == unusable.end() || next->sample != i) {
      others.push_back(row);
      continue;
    }
    tell_unusable(what, train, row, *next++, faults);
  }
  train_rows.rows = row_numbers::some(others);
  faults.check(true);
}

/// Bins, groups and what else is counted, of the rows that were chosen.
void job_tables::divide(const job& what) {
  if (label_of(what) == label_kind::target)
    choose_bins();
  if (label_of(what) == label_kind::none)
    choose_cells();
  placement_bins = histogram_bins(train.row);
  if (!what.balance.group.empty())
    groups = train.kept[what.balance.by.size()].cells;
  if (!what.balance.by.empty())
    choose_joint_bins(what.balance.by.size());
  // Unlike a class, a token may occur first in the test set.
  if (test)
    train.row.vocabulary = std::max(train.row.vocabulary, test->row.vocabulary);
}

/// Of graphs, where a source row may be in both.
void job_tables::count_shared_origins(const data_spec& data) {
  if (data.train.format != source_format::graph ||
      (data.test && data.test->format != source_format::graph))
    return;
  const auto origins = [](const part_rows& part) {
    std::vector<uint64_t> out(part.rows.size());
    for (uint64_t i = 0; i < out.size(); ++i)
      out[i] = part.table->source_row(part.rows[i]);
    std::sort(out.begin(), out.end());
    return out;
  };
  const std::vector<uint64_t> tested = origins(test_rows);
  std::vector<bool> trained(tested.size());
  for (uint64_t i = 0; i < train_rows.rows.size(); ++i) {
    const auto [first, last] = std::equal_range(
        tested.begin(), tested.end(), train.source_row(train_rows.rows[i]));
    // Of equal ones the first stands for all.
    if (first != last)
      trained[size_t(first - tested.begin())] = true;
  }
  uint64_t count = 0;
  for (size_t i = 0; i < tested.size(); ++i) {
    if (i > 0 && tested[i] == tested[i - 1])
      trained[i] = trained[i - 1];
    count += trained[i] ? 1 : 0;
  }
  test_rows_trained_on = count;
}

/// Defined by the training rows; the test set uses the same bins.
void job_tables::choose_joint_bins(size_t columns) {
  // These columns are no longer needed; that of groups stays.
  const auto end = train.kept.begin() + ptrdiff_t(columns);
  std::vector<placement::kept_column> both(
      std::move_iterator(train.kept.begin()), std::move_iterator(end));
  for (size_t i = 0; test && i < columns; ++i)
    append(both[i], test->kept[i]);
  placement::joint_bins bins = bins_of_columns(both, train_rows.rows.listed());
  if (bins.count > placement::joint_bins_max)
    throw ballast_error(errc::invalid_data,
                        "the columns have " + std::to_string(bins.count) +
                            " different combinations of values, at most " +
                            std::to_string(placement::joint_bins_max) +
                            " can be counted; leave a column out",
                        "/balance/by");
  train.row.target_bins = bins.count;
  const auto end_of_train = bins.of_row.begin() + ptrdiff_t(train.rows);
  if (test)
    test->joint_bins.assign(end_of_train, bins.of_row.end());
  bins.of_row.erase(end_of_train, bins.of_row.end());
  train.joint_bins = std::move(bins.of_row);
}

/// Defined by the training targets; those of the test set use the same bins.
void job_tables::choose_bins() {
  std::vector<float> targets;
  targets.reserve(train_rows.rows.size());
  for (uint64_t i = 0; i < train_rows.rows.size(); ++i)
    targets.push_back(train.targets[train_rows.rows[i]]);
  const std::vector<float> edges = placement::bin_edges(std::move(targets));
  train.row.target_bins = uint32_t(edges.size() + 1);
  for (float target : train.targets)
    train.target_bins.push_back(placement::bin_of(target, edges));
  for (float target : test ? test->targets : std::vector<float>{})
    test->target_bins.push_back(placement::bin_of(target, edges));
}

void job_tables::choose_cells() {
  const placement::row_cells cells = token_cells(train, train_rows.rows);
  train.row.target_bins = cells.count();
  put_into_cells(cells, train);
  if (test)
    put_into_cells(cells, *test);
}

} // namespace ballast::data
