/// `ballast validate --data JOB.json` and `ballast data profile SOURCE`: what
/// each column holds, over all rows; of a job, what a run would refuse.
#include "cli/commands/data.hpp"

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

data::source_request request_of(const job& what, const std::string& pointer) {
  data::source_request out;
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
bool look_at(const job& what, const source_spec& source,
             const std::string& pointer, bool as_json, json& all) {
  if (!is_table(source.format)) {
    if (!as_json)
      std::cout << pointer << ": " << to_string(source.format)
                << " has no named columns to look at\n";
    return true;
  }
  const data::table_survey found =
      data::survey(source, request_of(what, pointer));
  const json fix = data::fix_of(source, found);
  if (as_json)
    all.push_back(data::to_json(found, fix));
  else
    std::cout << data::describe(found, fix);
  return found.clean();
}

} // namespace

int validate_data(const job& what, const json& request) {
  const bool as_json = request.value("json", false);
  json all = json::array();
  bool clean = look_at(what, what.data.train, "/data/train", as_json, all);
  if (what.data.test)
    clean = look_at(what, *what.data.test, "/data/test", as_json, all) && clean;
  if (as_json)
    std::cout << json_lines_text(json{{"valid", clean}, {"sources", all}})
              << "\n";
  else if (clean)
    std::cout << "nothing in the data stands against a run\n";
  return clean ? 0 : describe(errc::invalid_data).exit_code;
}

int profile_data(const job& what, const json& request) {
  source_spec source = what.data.sources.at("in");
  source.where = request.value("where", "");
  data::source_request how;
  how.label = data::label_kind::none;
  how.pointer = "/data/sources/in";
  const data::table_survey found = data::survey(source, how);
  if (request.value("json", false))
    std::cout << json_lines_text(data::to_json(found, json())) << "\n";
  else
    std::cout << data::describe(found, json());
  return 0;
}

} // namespace ballast::cli
