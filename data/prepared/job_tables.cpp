#include "data/prepared/job_tables.hpp"

#include "data/prepared/set_identity.hpp"
#include "data/prepared/test_split.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/placement/joint_bins.hpp"
#include "runtime/placement/row_cells.hpp"
#include "runtime/placement/row_lists.hpp"
#include "runtime/placement/target_bins.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace ballast::data {

namespace {

std::array<float, placement::token_profile_size>
profile_of(const source_table& table, uint64_t row) {
  std::vector<float> tokens(table.row.features);
  row_values(table, row, tokens);
  std::array<float, placement::token_profile_size> out{};
  placement::token_profile(tokens, out);
  return out;
}

/// The cells of the training rows.
placement::row_cells token_cells(const source_table& table,
                                 const std::vector<uint64_t>& rows) {
  const size_t taken = std::min(rows.size(), placement::rows_looked_at_max);
  std::vector<float> points;
  for (size_t i = 0; i < taken; ++i) {
    const auto point = profile_of(table, rows[i * rows.size() / taken]);
    points.insert(points.end(), point.begin(), point.end());
  }
  return placement::row_cells(points, placement::token_profile_size);
}

void put_into_cells(const placement::row_cells& cells, source_table& table) {
  for (uint64_t row = 0; row < table.rows; ++row)
    table.target_bins.push_back(cells.of(profile_of(table, row)));
}

/// The columns of `balance.by`, then that of `balance.group`.
std::vector<column_to_keep> kept_of(const job& what) {
  std::vector<column_to_keep> out;
  for (const std::string& name : what.balance.by)
    out.push_back({name, "/balance/by/" + std::to_string(out.size())});
  if (!what.balance.group.empty())
    out.push_back({what.balance.group, "/balance/group"});
  return out;
}

} // namespace

job_tables::job_tables(const job& what, const std::filesystem::path& spill,
                       const store::work_watch& stop) {
  source_request request;
  request.stop = stop;
  request.kept = kept_of(what);
  request.label = label_of(what);
  request.seed = what.seed;
  request.data = &what.data;
  request.spill = spill;
  train = read_source(what.data.train, request);
  train_rows.table = test_rows.table = &train;
  if (what.data.test) {
    request.test = true;
    request.pointer = "/data/test";
    request.like = &train;
    request.kept.resize(what.balance.by.size()); // groups: those of `train`
    test = read_source(*what.data.test, request);
    const ledger::stored_type stored =
        wider_type(train.row.stored, test->row.stored);
    widen(train, stored);
    widen(*test, stored);
    test_rows = {&*test, placement::all_rows(test->rows)};
  } else {
    test_rows.table_rows =
        choose_test_rows(train.labels, train.row.classes, train.rows,
                         what.data.test_fraction, what.seed);
  }
  train_rows.table_rows = what.data.test
                              ? placement::all_rows(train.rows)
                              : rows_without(train.rows, test_rows.table_rows);
  if (request.label == label_kind::target)
    choose_bins();
  if (request.label == label_kind::none)
    choose_cells();
  placement_bins = histogram_bins(train.row);
  if (!what.balance.group.empty())
    groups = train.kept.back().cells;
  if (!what.balance.by.empty())
    choose_joint_bins(what.balance.by.size());
  // Unlike a class, a token may occur first in the test set.
  if (test)
    train.row.vocabulary = std::max(train.row.vocabulary, test->row.vocabulary);
}

/// Defined by the training rows; the test set uses the same bins.
void job_tables::choose_joint_bins(size_t columns) {
  // These columns are no longer needed; that of groups stays.
  const auto end = train.kept.begin() + ptrdiff_t(columns);
  std::vector<placement::kept_column> both(
      std::move_iterator(train.kept.begin()), std::move_iterator(end));
  for (size_t i = 0; test && i < columns; ++i)
    append(both[i], test->kept[i]);
  placement::joint_bins bins = bins_of_columns(both, train_rows.table_rows);
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
  for (uint64_t row : train_rows.table_rows)
    targets.push_back(train.targets[row]);
  const std::vector<float> edges = placement::bin_edges(std::move(targets));
  train.row.target_bins = uint32_t(edges.size() + 1);
  for (float target : train.targets)
    train.target_bins.push_back(placement::bin_of(target, edges));
  for (float target : test ? test->targets : std::vector<float>{})
    test->target_bins.push_back(placement::bin_of(target, edges));
}

void job_tables::choose_cells() {
  const placement::row_cells cells = token_cells(train, train_rows.table_rows);
  train.row.target_bins = cells.count();
  put_into_cells(cells, train);
  if (test)
    put_into_cells(cells, *test);
}

} // namespace ballast::data
