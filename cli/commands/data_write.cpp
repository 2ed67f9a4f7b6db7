/// `ballast data split|write|partition`: the rows of a job's nodes as files.
#include "cli/commands/data.hpp"

#include "data/sink/node_files.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ballast::cli {

namespace {

using nlohmann::json;

int print(const std::vector<data::written_file>& files, const json& request) {
  if (request.value("json", false)) {
    json all = json::array();
    for (const data::written_file& one : files)
      all.push_back({{"file", one.path.string()}, {"rows", one.rows}});
    std::cout << json_lines_text(json{{"files", std::move(all)}}) << "\n";
    return 0;
  }
  for (const data::written_file& one : files)
    std::cout << printable(one.path.string()) << ": " << one.rows << " rows\n";
  return 0;
}

} // namespace

int write_data(const job& what, const json& request) {
  return print(data::write_nodes(
                   what, request.at("nodes").get<std::vector<std::string>>(),
                   request.at("files").get<std::vector<std::string>>()),
               request);
}

int partition_data(const job& what, const json& request) {
  data::partition_terms terms;
  terms.folder = request.at("folder").get<std::string>();
  terms.format = request.at("format").get<std::string>();
  terms.into = request.at("into").get<uint64_t>();
  terms.column = request.at("column").get<std::string>();
  return print(
      data::partition_node(what, request.at("node").get<std::string>(), terms),
      request);
}

} // namespace ballast::cli
