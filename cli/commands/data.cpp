/// `ballast validate --data JOB.json`: reads the sources of a valid job, and
/// says what each column holds and what a run would refuse. The thin program
/// hands the job over as JSON. Exit code 0: nothing is wrong.
#include "data/prepared/set_identity.hpp"
#include "data/source/table_survey.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/job/job.hpp"

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace ballast::cli {

namespace {

using nlohmann::json;

data::source_request request_of(const job& what, const std::string& pointer) {
  data::source_request out;
  out.label = data::label_of(what);
  out.pointer = pointer;
  for (const std::string& name : what.balance.by)
    out.kept.push_back(
        {name, "/balance/by/" + std::to_string(out.kept.size())});
  if (!what.balance.group.empty() && pointer == "/data/train")
    out.kept.push_back({what.balance.group, "/balance/group"});
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

int validate_data(const std::string& job_text, bool as_json) {
  const job_result parsed = parse_job(job_text, {}, "/");
  if (!parsed.value)
    throw ballast_error(parsed.mistakes.at(0));
  const job& what = *parsed.value;
  json all = json::array();
  bool clean = look_at(what, what.data.train, "/data/train", as_json, all);
  if (what.data.test)
    clean = look_at(what, *what.data.test, "/data/test", as_json, all) && clean;
  if (as_json)
    std::cout << json_lines_text(json{{"valid", clean}, {"sources", all}})
              << "\n";
  else if (clean)
    std::cout << "nothing in the data stands against a run\n";
  std::cout.flush();
  return clean ? 0 : describe(errc::invalid_data).exit_code;
}

} // namespace

} // namespace ballast::cli

extern "C" __attribute__((visibility("default"))) int
ballast_data_main(int argc, char** argv) {
  using namespace ballast;
  try {
    return cli::validate_data(argc > 1 ? argv[1] : "",
                              argc > 2 && std::string(argv[2]) == "--json");
  } catch (const ballast_error& error) {
    std::cerr << "ballast: " << error.what() << "\n";
    return describe(error.what_failed().code).exit_code;
  } catch (const std::exception& error) {
    std::cerr << "ballast: " << printable(error.what()) << "\n";
    return 1;
  }
}
