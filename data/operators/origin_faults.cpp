#include "data/operators/origin_faults.hpp"

#include <arrow/api.h>

#include <utility>

namespace ballast::data {

void add_fault(row_faults& faults, const row_origins& origins, uint64_t origin,
               const bad_row& what, row_fault out) {
  row_origins::found from = origins.find(origin);
  out.source = std::move(from.source);
  out.file = std::move(from.file);
  out.row = from.row;
  out.column = what.column;
  out.reason = what.reason;
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
  put_in_order(bad);
  return without_bad_rows(std::move(batch), origin, bad, context);
}

std::shared_ptr<arrow::RecordBatch>
without_bad_rows(std::shared_ptr<arrow::RecordBatch> batch, int origin,
                 const std::vector<bad_row>& bad,
                 const operator_context& context) {
  if (bad.empty())
    return batch;
  const auto& origins =
      static_cast<const arrow::UInt64Array&>(*batch->column(origin));
  for (const bad_row& one : bad) {
    row_fault what;
    what.step = context.name;
    what.values = values_of(*batch, one.row);
    add_fault(*context.faults, *context.origins, origins.Value(one.row), one,
              std::move(what));
  }
  return without_rows(batch, bad).batch;
}

} // namespace ballast::data
