/// Rows of `cache` nodes that outlast the job that computed them: the seam
/// between a graph and whoever keeps them (data/prepared/cached_nodes.hpp).
/// Includes Arrow; for source files of data/ only. One thread.
#pragma once

#include "data/operators/column_stream.hpp"
#include "data/operators/row_origin.hpp"

#include <cstddef>
#include <memory>

namespace ballast::data {

class node_cache {
public:
  virtual ~node_cache() = default;
  /// The rows of a node of the graph; null: they are not there. `origins` is
  /// told the files that they come from.
  virtual stream_pointer find(size_t node, row_origins& origins,
                              const operator_context& how) = 0;
  /// The same rows as `from`, which are kept once all of them have passed.
  virtual stream_pointer keep(size_t node, stream_pointer from,
                              const std::shared_ptr<const row_origins>& origins,
                              const operator_context& how) = 0;
};

} // namespace ballast::data
