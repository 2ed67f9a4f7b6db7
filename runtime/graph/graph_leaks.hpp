/// Whether what a job learns from its training rows has seen test rows. Pure
/// functions; mistakes are returned with their JSON pointer.
#pragma once

#include "runtime/graph/data_graph.hpp"

#include <optional>
#include <vector>

namespace ballast::graph {

/// Nodes that learn from rows which are, or may be, rows of the test set, or
/// resample them, so that a model is tested on what it knows. `same`: sources,
/// by number, that are one; by the first of them. `test`: nothing where the
/// test set does not come from the graph; `held_out`: whether rows of `train`
/// become test rows instead.
std::vector<failure> leaks(const wiring& wires, const std::vector<node>& nodes,
                           const std::vector<size_t>& same, const output& train,
                           const std::optional<output>& test, bool held_out);

} // namespace ballast::graph
