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

/// For a user of the files, whom an empty one would surprise.
void warn_of_empty(const std::vector<data::written_file>& files) {
  for (const data::written_file& one : files)
    if (one.rows == 0)
      std::cerr << "ballast: " << printable(one.path.string())
                << " has no rows: too few, or too many that are equal (in "
                   "time, or of one group), for its share\n";
}

/// `without`: a column that is in the names of the folders; may be empty.
int print(const std::vector<data::written_file>& files, const json& request,
          const std::string& without = {}) {
  if (request.value("json", false)) {
    json all = json::array();
    for (const data::written_file& one : files)
      all.push_back({{"file", one.path.string()}, {"rows", one.rows}});
    json out{{"files", std::move(all)}};
    if (!without.empty())
      out["column_in_names"] = without;
    std::cout << json_lines_text(out) << "\n";
    return 0;
  }
  for (const data::written_file& one : files)
    std::cout << printable(one.path.string()) << ": " << one.rows << " rows\n";
  if (!without.empty())
    std::cout << "column '" << printable(without)
              << "' is in the names of the folders, not in the files\n";
  return 0;
}

} // namespace

int write_data(const data_order& order) {
  const json& request = order.request;
  const auto written = data::write_nodes(
      order.what, request.at("nodes").get<std::vector<std::string>>(),
      request.at("files").get<std::vector<std::string>>(), order.stop);
  warn_of_empty(written);
  return print(written, request);
}

int partition_data(const data_order& order) {
  const json& request = order.request;
  data::partition_terms terms;
  terms.folder = request.at("folder").get<std::string>();
  terms.format = request.at("format").get<std::string>();
  terms.into = request.at("into").get<uint64_t>();
  terms.column = request.at("column").get<std::string>();
  return print(data::partition_node(order.what,
                                    request.at("node").get<std::string>(),
                                    terms, order.stop),
               request, terms.column);
}

} // namespace ballast::cli
