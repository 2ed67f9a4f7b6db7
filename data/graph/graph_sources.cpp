#include "data/graph/graph_sources.hpp"

#include "runtime/base/check.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/graph/removing_nodes.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace ballast::data {

std::vector<std::string> names_of_sources(const data_spec& data) {
  std::vector<std::string> out;
  for (const auto& [name, source] : data.sources)
    out.push_back(name);
  return out;
}

static graph::output found_in(const graph::wiring& wires,
                              const std::string& name) {
  const auto found = wires.find(name);
  BALLAST_CHECK(found.has_value(), "a job's output is known");
  return *found;
}

graph::output output_of(const data_spec& data, const std::string& name) {
  return found_in(graph::wiring(names_of_sources(data), data.graph), name);
}

void check_output(const data_spec& data, const std::string& name,
                  const std::string& who) {
  const graph::wiring wires(names_of_sources(data), data.graph);
  if (!wires.find(name))
    throw ballast_error(errc::usage,
                        who +
                            ": there is no source and no node with the "
                            "name '" +
                            printable(name) + "'" + wires.advice(name));
}

static graph::wiring::needed needed_for(const data_spec& data,
                                        const graph::output& output) {
  return graph::wiring(names_of_sources(data), data.graph).needs(output);
}

std::vector<std::string> graph_sources(const data_spec& data,
                                       const std::string& output) {
  return graph_sources(data, output_of(data, output));
}

std::vector<std::string> graph_sources(const data_spec& data,
                                       const graph::output& output) {
  const std::vector<std::string> names = names_of_sources(data);
  std::vector<std::string> out;
  for (size_t source : needed_for(data, output).sources)
    out.push_back(names[source]);
  return out;
}

std::set<std::string>
sources_read_again(const data_spec& data,
                   const std::vector<std::string>& outputs) {
  const std::vector<std::string> names = names_of_sources(data);
  const graph::wiring wires(names, data.graph);
  std::map<size_t, size_t> readings; // by source; not too few
  std::set<std::pair<bool, size_t>> passes;
  for (const std::string& name : outputs) {
    const graph::output what = found_in(wires, name);
    if (!passes.emplace(what.of_source, what.index).second)
      continue; // another part of the same split
    if (what.of_source)
      ++readings[what.index];
    const graph::wiring::needed needed = wires.needs(what);
    bool again = false;               // some node's input
    std::map<size_t, size_t> readers; // by node
    for (size_t node : needed.nodes) {
      const graph::node& one = data.graph[node];
      again = again || one.what == graph::op::repeat ||
              (one.what == graph::op::split &&
               graph::value_of<std::string>(one, "by") ==
                   to_string(graph::split_kind::time));
      for (const graph::output& from : wires.inputs()[node])
        if (from.of_source)
          ++readings[from.index];
        else
          again = ++readers[from.index] > 1 || again;
    }
    for (size_t source : needed.sources)
      readings[source] += again ? 1 : 0;
  }
  std::set<std::string> out;
  for (const auto& [source, times] : readings)
    if (times > 1)
      out.insert(names[source]);
  return out;
}

std::vector<node_library> graph_libraries(const data_spec& data,
                                          const std::string& output) {
  return graph_libraries(data, output_of(data, output));
}

std::vector<node_library> graph_libraries(const data_spec& data,
                                          const graph::output& output) {
  std::vector<node_library> out;
  for (size_t node : needed_for(data, output).nodes)
    if (const graph::node& one = data.graph[node]; one.what == graph::op::map)
      out.push_back({graph::value_of<std::string>(one, "library"),
                     graph::pointer_of(node)});
  return out;
}

nlohmann::json nodes_of(const job& what, const std::string& output) {
  nlohmann::json out = nodes_of(what, output_of(what.data, output));
  out["output"] = output;
  return out;
}

nlohmann::json nodes_of(const job& what, const graph::output& output) {
  const nlohmann::json all =
      to_json(what)["data"].value("graph", nlohmann::json::array());
  nlohmann::json out = nlohmann::json::array();
  for (size_t node : needed_for(what.data, output).nodes) {
    nlohmann::json one = all[node];
    if (graph::about(what.data.graph[node].what).seeded)
      one["draws_as"] = graph::draws_as(what.data.graph, node);
    one.erase("library"); // which is known by its content
    one.erase("batches"); // how far a prefetch is ahead
    out.push_back(std::move(one));
  }
  return {{"nodes", std::move(out)}};
}

bool is_seeded(const data_spec& data, const std::string& output) {
  return is_seeded(data, output_of(data, output));
}

bool is_seeded(const data_spec& data, const graph::output& output) {
  const std::set<size_t> nodes = needed_for(data, output).nodes;
  return std::any_of(nodes.begin(), nodes.end(), [&](size_t node) {
    return graph::about(data.graph[node].what).seeded;
  });
}

bool has_states(const data_spec& data, const std::string& output) {
  return has_states(data, output_of(data, output));
}

bool has_states(const data_spec& data, const graph::output& output) {
  const std::set<size_t> nodes = needed_for(data, output).nodes;
  return std::any_of(nodes.begin(), nodes.end(), [&](size_t node) {
    return graph::about(data.graph[node].what).each_input;
  });
}

bool removes_rows(const data_spec& data, const graph::output& output) {
  const std::set<size_t> nodes = needed_for(data, output).nodes;
  return std::any_of(nodes.begin(), nodes.end(), [&](size_t node) {
    return graph::removes_rows(data.graph[node]);
  });
}

} // namespace ballast::data
