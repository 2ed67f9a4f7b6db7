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

/// `out`: what is known beside its place and `what` is wrong: the step, lines,
/// values, text.
void add_fault(row_faults& faults, const row_origins& origins, uint64_t origin,
               const bad_row& what, row_fault out);

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

/// The same of rows that the node has found to be wrong, in order, each once.
std::shared_ptr<arrow::RecordBatch>
without_bad_rows(std::shared_ptr<arrow::RecordBatch> batch, int origin,
                 const std::vector<bad_row>& bad,
                 const operator_context& context);

} // namespace ballast::data
