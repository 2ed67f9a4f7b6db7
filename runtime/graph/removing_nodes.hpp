/// Nodes that remove rows because the job says so, and tell them: `check`,
/// `distinct`, `impute` by `drop`, `clip_outliers` by `remove`. Not those that
/// choose rows: `filter`, `limit`, `sample`, a `join`. Pure.
#pragma once

#include "runtime/graph/data_graph.hpp"

namespace ballast::graph {

bool removes_rows(const node& one);

} // namespace ballast::graph
