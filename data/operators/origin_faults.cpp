#include "data/operators/origin_faults.hpp"

#include <arrow/api.h>

#include <utility>

namespace ballast::data {

void add_fault(row_faults& faults, const row_origins& origins, uint64_t origin,
               const bad_row& what, uint64_t line, const std::string& step,
               std::vector<named_value> values) {
  row_origins::found from = origins.find(origin);
  row_fault out;
  out.source = std::move(from.source);
  out.file = std::move(from.file);
  out.row = from.row;
  out.line = line;
  out.column = what.column;
  out.step = step;
  out.reason = what.reason;
  out.text = what.text;
  out.values = std::move(values);
  faults.add(origin, out);
}

std::shared_ptr<arrow::RecordBatch>
rows_with_results(std::shared_ptr<arrow::RecordBatch> batch, int origin,
                  const std::vector<made_column>& made,
                  const operator_context& context) {
  if (context.faults == nullptr)
    return batch;
  std::vector<bad_row> bad;
  for (const made_column& one : made)
    for (failing_row& row : one.by->failing(*batch))
      bad.push_back({row.row, one.column, std::move(row.reason), {}});
  if (bad.empty())
    return batch;
  put_in_order(bad);
  const auto& origins =
      static_cast<const arrow::UInt64Array&>(*batch->column(origin));
  for (const bad_row& one : bad)
    add_fault(*context.faults, *context.origins, origins.Value(one.row), one, 0,
              context.name, values_of(*batch, one.row));
  return without_rows(batch, bad).batch;
}

} // namespace ballast::data
