/// `ballast validate --data JOB.json` and `ballast data profile SOURCE`: what
/// each column holds, over all rows; of a job, what a run would refuse.
#include "cli/commands/data.hpp"

#include "data/graph/graph_stream.hpp"
#include "data/prepared/set_identity.hpp"
#include "data/source/table_survey.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace ballast::cli {

namespace {

using nlohmann::json;

data::source_request request_of(const data_order& order,
                                const std::string& pointer) {
  const job& what = order.what;
  data::source_request out;
  out.stop = order.stop;
  out.label = data::label_of(what);
  out.data = &what.data;
  out.seed = what.seed;
  out.pointer = pointer;
  out.kept = data::kept_columns(what);
  if (pointer == "/data/test")
    out.kept.resize(what.balance.by.size());
  return out;
}

/// False: something is wrong.
bool look_at(const data_order& order, const source_spec& source,
             const std::string& pointer, bool as_json, json& all) {
  if (!is_table(source.format)) {
    if (!as_json)
      std::cout << pointer << ": " << to_string(source.format)
                << " has no named columns to look at\n";
    return true;
  }
  const data::table_survey found =
      data::survey(source, request_of(order, pointer));
  const json fix = data::fix_of(source, found);
  if (as_json)
    all.push_back(data::to_json(found, fix));
  else
    std::cout << data::describe(found, fix);
  return found.clean();
}

} // namespace

int check_nodes(const data_order& order) {
  const bool as_json = order.request.value("json", false);
  try {
    data::schemas_of_nodes_here(order.what.data, order.stop);
    return 0;
  } catch (const ballast_error& error) {
    const failure& why = error.what_failed();
    if (!as_json || why.code == errc::stopped)
      throw;
    std::cout << json_lines_text(json{{"valid", false},
                                      {"mistakes",
                                       {{{"code", to_string(why.code)},
                                         {"pointer", why.pointer},
                                         {"message", why.message}}}}})
              << "\n";
    return describe(errc::invalid_data).exit_code;
  }
}

int validate_data(const data_order& order) {
  const job& what = order.what;
  const json& request = order.request;
  data::schemas_of_nodes(what.data, order.stop);
  const bool as_json = request.value("json", false);
  json all = json::array();
  bool clean = look_at(order, what.data.train, "/data/train", as_json, all);
  if (what.data.test)
    clean =
        look_at(order, *what.data.test, "/data/test", as_json, all) && clean;
  if (as_json)
    std::cout << json_lines_text(json{{"valid", clean}, {"sources", all}})
              << "\n";
  else if (clean)
    std::cout << (is_pictures(what.data.train.format)
                      ? "the images are only looked at when they are prepared\n"
                      : "nothing in the data stands against a run\n");
  else if (what.data.on_error != error_policy::fail)
    std::cout << "with /data/on_error \"" << to_string(what.data.on_error)
              << "\" a run leaves out such rows, up to /data/errors_max of "
                 "them; `ballast data prepare` says which\n";
  return clean ? 0 : describe(errc::invalid_data).exit_code;
}

int profile_data(const data_order& order) {
  const json& request = order.request;
  source_spec source = order.what.data.sources.at("in");
  source.where = request.value("where", "");
  data::source_request how;
  how.label = data::label_kind::none;
  how.pointer = "/data/sources/in";
  how.stop = order.stop;
  const data::table_survey found = data::survey(source, how);
  if (request.value("json", false))
    std::cout << json_lines_text(data::to_json(found, json())) << "\n";
  else
    std::cout << data::describe(found, json());
  return 0;
}

} // namespace ballast::cli
