#include "data/source/bad_rows.hpp"

#include "data/base/arrow_support.hpp"
#include "data/expression/binding.hpp"
#include "data/source/array_cells.hpp"

#include <arrow/api.h>
#include <arrow/compute/api_vector.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

void put_in_order(std::vector<bad_row>& rows) {
  std::stable_sort(
      rows.begin(), rows.end(),
      [](const bad_row& a, const bad_row& b) { return a.row < b.row; });
  const auto others = std::unique(
      rows.begin(), rows.end(),
      [](const bad_row& a, const bad_row& b) { return a.row == b.row; });
  rows.erase(others, rows.end());
}

selected_rows without_rows(const std::shared_ptr<arrow::RecordBatch>& batch,
                           const std::vector<bad_row>& bad) {
  constexpr const char* doing = "the rows that are good";
  prepare_functions();
  selected_rows out;
  size_t next = 0;
  arrow::Int64Builder indices;
  for (int64_t row = 0; row < batch->num_rows(); ++row) {
    if (next < bad.size() && bad[next].row == row)
      ++next;
    else
      out.rows.push_back(row);
  }
  if (bad.empty()) {
    out.batch = batch;
    return out;
  }
  check_arrow(indices.AppendValues(out.rows), errc::device_failed, doing);
  out.batch =
      take_arrow(arrow::compute::Take(
                     arrow::Datum(batch),
                     arrow::Datum(take_arrow(indices.Finish(),
                                             errc::device_failed, doing))),
                 errc::device_failed, doing)
          .record_batch();
  return out;
}

void add_written(row_fault& to, written_row row, bool always) {
  to.lines = row.lines;
  if (!to.text.empty() || row.text.empty() || (row.lines == 1 && !always))
    return;
  to.text = std::move(row.text);
  if (always)
    to.values.clear();
}

std::vector<named_value> values_of(const arrow::RecordBatch& batch,
                                   int64_t row) {
  std::vector<named_value> out;
  for (int i = 0; i < batch.num_columns() && out.size() < fault_values_max;
       ++i) {
    const std::string& name = batch.schema()->field(i)->name();
    if (!name.starts_with("__") && !name.empty())
      out.emplace_back(name, cell_of(*batch.column(i), row));
  }
  return out;
}

} // namespace ballast::data
