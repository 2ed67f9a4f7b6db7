/// `ballast data show JOB.json`: the sources and nodes of a job's data, who
/// reads whom, with which columns, and some rows.
#include "cli/commands/data.hpp"

#include "data/graph/graph_sources.hpp"
#include "data/graph/graph_view.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

namespace ballast::cli {

namespace {

using data::shown_node;
using nlohmann::json;

constexpr size_t columns_shown = 12;

std::string columns_text(const shown_node& of) {
  if (of.columns_are_learned)
    return "columns that are learned from the rows";
  std::string out;
  for (size_t i = 0; i < of.columns.size(); ++i) {
    if (i == columns_shown)
      return out + ", ... (" + std::to_string(of.columns.size()) + " in all)";
    out += (out.empty() ? "" : ", ") + printable(of.columns[i].first) + " " +
           of.columns[i].second;
  }
  return out;
}

std::string described(const source_spec& source) {
  std::string out =
      source.format == source_format::graph
          ? source.from
          : to_string(source.format) + " " + printable(source.uri);
  return out + (source.label.empty() ? "" : ", label " + source.label);
}

void print_text(const std::vector<shown_node>& all, const job& what) {
  for (const shown_node& one : all) {
    std::cout << one.name << ": " << one.what;
    for (const std::string& from : one.from)
      std::cout << (from == one.from.front() ? " of " : ", ") << from;
    if (!one.detail.empty())
      std::cout << " (" << one.detail << ")";
    std::cout << (one.blocking ? ", needs all rows first" : "")
              << (one.used ? "" : ", not used") << "\n    " << columns_text(one)
              << "\n";
  }
  std::cout << "train: " << described(what.data.train) << "\n";
  if (what.data.test)
    std::cout << "test: " << described(*what.data.test) << "\n";
}

json as_json(const std::vector<shown_node>& all) {
  json out = json::array();
  for (const shown_node& one : all) {
    json columns = json::array();
    for (const auto& [name, type] : one.columns)
      columns.push_back({{"name", name}, {"type", type}});
    out.push_back({{"names", one.parts},
                   {"op", one.what},
                   {"from", one.from},
                   {"detail", one.detail},
                   {"flow", to_string(one.blocking ? graph::flow::blocking
                                                   : graph::flow::streaming)},
                   {"used", one.used},
                   {"columns", std::move(columns)}});
  }
  return out;
}

std::string quoted(const std::string& text) {
  return json_text(json(text));
}

/// For Graphviz.
void print_dot(const std::vector<shown_node>& all, const job& what) {
  std::cout << "digraph data {\n  rankdir=LR\n  node [shape=box]\n";
  const auto arrow = [&](const std::string& from, const std::string& to) {
    for (const shown_node& one : all)
      if (std::count(one.parts.begin(), one.parts.end(), from) > 0)
        std::cout << "  " << quoted(one.name) << " -> " << quoted(to) << "\n";
  };
  for (const shown_node& one : all) {
    std::cout << "  " << quoted(one.name)
              << " [label=" << quoted(one.name + "\n" + one.what)
              << (one.from.empty() ? " shape=cylinder" : "")
              << (one.used ? "" : " style=dashed") << "]\n";
    for (const std::string& from : one.from)
      arrow(from, one.name);
  }
  if (what.data.train.format == source_format::graph)
    arrow(what.data.train.from, "data.train");
  if (what.data.test && what.data.test->format == source_format::graph)
    arrow(what.data.test->from, "data.test");
  std::cout << "}\n";
}

} // namespace

int show_data(const data_order& order) {
  const job& what = order.what;
  const json& request = order.request;
  const std::vector<shown_node> all = data::view_of(what, order.stop);
  if (request.value("dot", false)) {
    print_dot(all, what);
    return 0;
  }
  std::string node = request.value("node", "");
  if (node.empty() && what.data.train.format == source_format::graph)
    node = what.data.train.from;
  std::string rows;
  if (!node.empty()) {
    data::check_output(what.data, node, "--node");
    rows = data::first_rows(what, node, request.value("rows", uint64_t{0}),
                            order.stop);
  }
  if (request.value("json", false)) {
    json lines = json::array();
    std::istringstream in(rows);
    for (std::string line; std::getline(in, line);)
      lines.push_back(json::parse(line));
    std::cout << json_lines_text(json{{"nodes", as_json(all)},
                                      {"node", node},
                                      {"rows", std::move(lines)}})
              << "\n";
    return 0;
  }
  print_text(all, what);
  if (!rows.empty())
    std::cout << "first rows of " << node << ":\n" << rows;
  return 0;
}

} // namespace ballast::cli
