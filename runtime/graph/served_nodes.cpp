#include "runtime/graph/served_nodes.hpp"

#include "runtime/base/check.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace ballast::graph {

namespace {

using texts = std::vector<std::string>;
using by_column = std::map<std::string, std::string>;

enum class passage : uint8_t {
  changes, // each row, into one row
  chooses, // rows, or their order
  bars,    // makes other rows of them
};

passage passage_of(op what) {
  if (about(what).each_input)
    return passage::changes;
  switch (what) {
  case op::check:
  case op::select:
  case op::drop:
  case op::rename:
  case op::cast:
  case op::derive:
  case op::map:
    return passage::changes;
  case op::flat_map:
  case op::batch:
  case op::unbatch:
  case op::zip:
  case op::join:
    return passage::bars;
  default:
    return passage::chooses;
  }
}

struct station {
  size_t node = 0;
  size_t port = 0;
};

void forget(option_value& names, const std::string& column) {
  if (auto* list = std::get_if<texts>(&names))
    std::erase(*list, column);
  else
    std::get<by_column>(names).erase(column);
}

/// The column's name before the node.
std::string without(node& one, std::string column) {
  switch (one.what) {
  case op::check:
    forget(option_of(one, "rules"), column);
    return column;
  case op::select:
  case op::drop:
  case op::cast:
  case op::derive:
    forget(option_of(one, "columns"), column);
    return column;
  case op::rename: {
    auto& names = std::get<by_column>(option_of(one, "columns"));
    const auto found = std::ranges::find_if(
        names, [&](const auto& each) { return each.second == column; });
    if (found == names.end())
      return column;
    std::string before = found->first;
    names.erase(found);
    return before;
  }
  default:
    return column;
  }
}

failure barred(const node& one, size_t index) {
  const std::string pointer = pointer_of(index);
  return {errc::invalid_job,
          pointer + ": \"" + to_string(one.what) +
              "\" makes other rows of those that come in, so that none is the "
              "answer to a new row; apply it before, by `ballast data write`, "
              "and train on what it gives",
          pointer};
}

} // namespace

served_graph served_nodes(const std::vector<std::string>& sources,
                          const std::vector<node>& nodes,
                          const std::string& from,
                          const std::string& without_label) {
  served_graph out{nodes, {}, 0, {}};
  const wiring wires(sources, nodes);
  const auto end = wires.find(from);
  BALLAST_CHECK(end.has_value(), "a job trains on a node that is there");
  std::vector<station> way; // from the end on
  output at = *end;
  while (!at.of_source) {
    const node& one = nodes[at.index];
    const size_t port = about(one.what).each_input ? at.port : 0;
    const passage how = passage_of(one.what);
    if (how == passage::bars) {
      out.mistake = barred(one, at.index);
      return out;
    }
    if (how == passage::changes)
      way.push_back({at.index, port});
    at = wires.inputs()[at.index].at(port);
  }
  out.source = at.index;
  out.rows = at;
  std::string label = without_label;
  for (const station& one : way)
    if (!label.empty())
      label = without(out.nodes[one.node], std::move(label));
  std::string before = sources[at.index];
  for (auto one = way.rbegin(); one != way.rend(); ++one) {
    node& here = out.nodes[one->node];
    if (here.as.empty())
      here.as = {name_of(nodes, one->node)};
    if (here.from.empty())
      here.from.resize(1);
    here.from.at(one->port) = before;
    before = here.as.at(one->port);
    out.rows = {false, one->node, one->port};
  }
  return out;
}

} // namespace ballast::graph
