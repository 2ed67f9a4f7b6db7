/// What a node `resample` says of its method. Pure.
#pragma once

#include "runtime/graph/data_graph.hpp"
#include "runtime/graph/resampling_methods.hpp"

namespace ballast::graph {

/// A mistake's pointer is that of the option of the node: "/options/rng".
/// Precondition: the node is a `resample`.
resampling_result resampling_of(const node& one);

} // namespace ballast::graph
