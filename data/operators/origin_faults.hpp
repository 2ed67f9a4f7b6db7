/// Rows of a graph that are left out: told by their origin, and taken out of
/// batches. Includes Arrow; for source files of data/ only. Any thread that has
/// the graph. Errors: those of the work on the other rows.
#pragma once

#include "data/operators/operator_context.hpp"
#include "data/source/bad_rows.hpp"

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

void add_fault(row_faults& faults, const row_origins& origins, uint64_t origin,
               const bad_row& what, uint64_t line, const std::string& step,
               std::vector<named_value> values);

/// The work of a node on a batch; which ends with the origin's column at
/// `origin`. Rows for which one of `made` has no result are left out of the
/// batch, if the job says so.
struct made_column {
  const bound_expression* by = nullptr;
  std::string column; // empty: a condition
};
std::shared_ptr<arrow::RecordBatch>
rows_with_results(std::shared_ptr<arrow::RecordBatch> batch, int origin,
                  const std::vector<made_column>& made,
                  const operator_context& context);

} // namespace ballast::data
