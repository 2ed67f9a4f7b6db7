/// The way of new rows through a job's graph: from the source that they stand
/// for to what the model reads, each row changed as the training rows were.
/// Nodes that choose, order, repeat or add rows for training (filter, split,
/// sample, resample, ...) are passed by: every row is answered, once. Pure.
#pragma once

#include "runtime/graph/data_graph.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace ballast::graph {

struct served_graph {
  /// Those of the job at their places, so that pointers and names stay; the
  /// ones on the way read the one before them on it.
  std::vector<node> nodes;
  output rows;       // what the model reads
  size_t source = 0; // by number
  /// invalid_job at a node that makes rows of several ones, or of none.
  failure mistake;
};

/// `from`: what the job trains on, which is there. `without_label`: the rows
/// lack this column, so that nodes do not name it any more; empty: they have
/// it.
served_graph served_nodes(const std::vector<std::string>& sources,
                          const std::vector<node>& nodes,
                          const std::string& from,
                          const std::string& without_label);

} // namespace ballast::graph
