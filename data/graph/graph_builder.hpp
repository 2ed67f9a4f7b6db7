/// Builds the operators of a job's graph, from the sources up, and checks every
/// column and expression on the way, before a row is read. Includes Arrow; for
/// source files of data/ only.
///
/// Each node is built once, whoever reads it: what several need is kept
/// (graph::kept_nodes says what). A fitted node reads the rows that it learns
/// from when it is built. One owner, one thread; the streams outlive
/// it. Errors name the field of the node.
#pragma once

#include "data/fitting/fitted_operator.hpp"
#include "data/fitting/fitted_states.hpp"
#include "data/graph/node_cache.hpp"
#include "data/graph/node_counts.hpp"
#include "data/operators/kept_rows.hpp"
#include "data/operators/row_origin.hpp"
#include "data/operators/source_stream.hpp"
#include "runtime/job/job.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ballast::data {

struct graph_terms {
  uint64_t seed = 0;
  /// For each operator that holds rows; nothing: by this machine's memory.
  std::optional<uint64_t> memory_bytes = {};
  /// For rows that do not fit; empty: a folder of its own for temporary files.
  std::filesystem::path spill = {};
  store::work_watch stop = {};
  /// Of rows that are left out; null: the first mistake is an error.
  row_faults* faults = nullptr;
  /// Of rows that nodes remove; null: nobody asks.
  removed_rows* removed = nullptr;
  /// As in source_request.
  found_files* found = nullptr;
  /// Of the nodes that are fitted; shared by the outputs of a job, so that each
  /// node is fitted once. Null: this output's alone.
  std::shared_ptr<fitted_states> fitted = nullptr;
  /// The rows are new to the fitted nodes, whose states are all in `fitted`:
  /// nothing is learned of them, and none is a training row. The graph is a way
  /// from one source (graph/served_nodes.hpp).
  bool new_rows = false;
  /// For the rows of `cache` nodes; null: they are kept for this graph alone.
  std::shared_ptr<node_cache> nodes = nullptr;
};

class graph_builder {
public:
  /// For the rows of one output. `data` stays as long as the streams.
  graph_builder(const data_spec& data, const graph_terms& terms,
                std::shared_ptr<row_origins> origins,
                std::shared_ptr<node_counts> counts, const graph::output& what);

  /// Once.
  stream_pointer build();
  /// Of a split, instead of one part: dealt_rows().
  stream_pointer build_all_parts();

  /// Of each node, by what the nodes before it would give; opens each source
  /// that a node reads once. `here`: only sources that are files of this
  /// machine; null stands for nodes that need others, or one that cannot be
  /// opened; and always for nodes whose columns have names that are learned,
  /// and those behind them. Of a node with several outputs: of the first.
  static std::vector<std::shared_ptr<arrow::Schema>>
  schemas(const data_spec& data, const graph_terms& terms, bool here = false);

private:
  struct all_nodes {};
  graph_builder(const data_spec& data, const graph_terms& terms, all_nodes);

  bool is_known(const graph::output& what);
  operator_context context(const std::string& pointer, const std::string& name,
                           uint64_t stream) const;
  operator_context context_of(size_t node) const;
  operator_context counted(const graph::output& what,
                           operator_context how) const;
  stream_pointer output(const graph::output& what);
  stream_pointer source(size_t index);
  stream_pointer node(size_t index);
  stream_pointer cached(size_t index, const operator_context& how);
  stream_pointer of_one(const graph::node& one, stream_pointer from,
                        const operator_context& how);
  static stream_pointer flat_or_timed(const graph::node& one,
                                      stream_pointer from,
                                      const operator_context& how);
  // data/fitting/fitted_nodes.cpp
  fit_terms fit_terms_of(size_t index) const;
  std::shared_ptr<const fitted_state> state_of(const fitted_operator& what,
                                               const graph::output& of);
  stream_pointer changed(const graph::output& what);
  std::shared_ptr<arrow::Schema> changed_schema(size_t index);
  bool inputs_are_known(size_t index, bool here);
  stream_pointer repeat(size_t index, const operator_context& how);
  stream_pointer dealt(size_t index, const operator_context& how);
  stream_pointer distinct(size_t index, const operator_context& how);
  stream_pointer united(size_t index, const operator_context& how);
  std::shared_ptr<kept_rows> kept(size_t index);

  const data_spec& data_;
  const graph_terms terms_;
  const std::shared_ptr<row_origins> origins_;
  const std::shared_ptr<node_counts> counts_;
  const std::vector<std::string> sources_;
  const graph::wiring wires_;
  const graph::output what_;
  std::set<size_t> to_keep_;
  std::set<size_t> repeated_; // of those: they are begun again later
  std::set<size_t> learned_;  // of those: a fitted node reads them first
  std::map<size_t, std::shared_ptr<kept_rows>> kept_;
  std::shared_ptr<std::map<size_t, found_source>> found_; // by source
  /// Of nodes whose schema alone is asked for, what is known already.
  bool only_schemas_ = false;
  std::vector<std::shared_ptr<arrow::Schema>> known_;
  /// Of nodes with an output for each input: by node and port.
  std::map<std::pair<size_t, size_t>, std::shared_ptr<arrow::Schema>>
      known_outputs_;
};

} // namespace ballast::data
