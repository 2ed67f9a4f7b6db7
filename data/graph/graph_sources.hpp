/// What an output of a job's graph hangs on, without reading anything: for its
/// identity, and for the list of its files. Pure functions.
#pragma once

#include "runtime/job/job.hpp"

#include <nlohmann/json_fwd.hpp>
#include <set>
#include <string>
#include <vector>

namespace ballast::data {

/// ballast_error{usage} "WHO: ..." if no source and no node has the name.
void check_output(const data_spec& data, const std::string& name,
                  const std::string& who);
/// In the order in which a graph counts them.
std::vector<std::string> names_of_sources(const data_spec& data);
/// What a name of the job stands for, which is there.
graph::output output_of(const data_spec& data, const std::string& name);
/// The sources that an output needs, by name, in order.
std::vector<std::string> graph_sources(const data_spec& data,
                                       const std::string& output);
/// Those of them that are read more than once for these outputs: by several
/// nodes or outputs (the parts of one split are one), or again by a node.
std::set<std::string>
sources_read_again(const data_spec& data,
                   const std::vector<std::string>& outputs);
std::vector<std::string> graph_sources(const data_spec& data,
                                       const graph::output& output);
/// A library of operators that a node of the output calls.
struct node_library {
  std::string path;
  std::string pointer; // of the node
};
/// In the order of their nodes.
std::vector<node_library> graph_libraries(const data_spec& data,
                                          const std::string& output);
std::vector<node_library> graph_libraries(const data_spec& data,
                                          const graph::output& output);
/// All that decides its rows besides its sources and libraries: its nodes, in
/// order.
nlohmann::json nodes_of(const job& what, const std::string& output);
nlohmann::json nodes_of(const job& what, const graph::output& output);
/// Whether the seed does, too.
bool is_seeded(const data_spec& data, const std::string& output);
bool is_seeded(const data_spec& data, const graph::output& output);

/// Whether some of its nodes have states (data/fitting/fitted_state.hpp).
bool has_states(const data_spec& data, const std::string& output);
bool has_states(const data_spec& data, const graph::output& output);
/// Whether some of its nodes remove rows, which are told as they pass.
bool removes_rows(const data_spec& data, const graph::output& output);

} // namespace ballast::data
