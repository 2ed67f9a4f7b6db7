/// `ballast data ...` and `ballast validate --data`: the thin program hands
/// over a request as JSON, with the job in it.
#include "cli/commands/data.hpp"
#include "cli/commands/end_of_command.hpp"

#include "cli/commands/ending_signals.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"

#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace ballast::cli {

namespace {

using nlohmann::json;

/// A source of the command line has no job that could be changed.
/// `types_are_known`: to what is applied, which takes no others.
std::string as_options(std::string said, bool types_are_known) {
  const std::string in_job = ", or the type in /data/sources/in/columns";
  const std::string missing =
      ", or give --null if it stands for a missing value";
  if (const size_t at = said.find(in_job); at != std::string::npos)
    said.replace(at, in_job.size(),
                 missing + (types_are_known
                                ? ""
                                : ", or another type by --type COLUMN=TYPE"));
  if (said.find("' is no number)") != std::string::npos)
    said += "; correct the cell" + missing;
  if (said.find("\"columns\": ") != std::string::npos)
    said += "; on the command line: --type COLUMN=TYPE";
  if (said.find("\"drop\"") != std::string::npos ||
      said.find("drop it first") != std::string::npos)
    said += "; on the command line: --drop COLUMN";
  return said;
}

int do_data(const std::string& text, const store::work_watch& stop) {
  const json request = json::parse(text);
  job what_to_do = job_in(request.at("job"));
  static const std::map<std::string, int (*)(const data_order&)> all{
      {"check", check_nodes},
      {"validate", validate_data},
      {"show", show_data},
      {"profile", profile_data},
      {"prepare", prepare_data},
      {"split", write_data},
      {"write", write_data},
      {"partition", partition_data},
      {"resample", resample_data},
      {"apply", apply_data},
      {"keep_input", tell_input_kept}};
  const std::string what = request.at("do").get<std::string>();
  if (what != "check")
    keep_standard_input(what_to_do);
  try {
    const int code = all.at(what)({what_to_do, request, stop});
    std::cout.flush();
    return code;
  } catch (const ballast_error& error) {
    if (what != "split" && what != "partition" && what != "profile" &&
        what != "resample" && what != "apply")
      throw;
    throw ballast_error(error.what_failed().code,
                        as_options(error.what(), what == "apply"),
                        error.what_failed().pointer);
  }
}

} // namespace

job job_in(const json& text) {
  job_result parsed = parse_job(json_text(text), {}, "/");
  if (!parsed.value)
    throw ballast_error(parsed.mistakes.at(0));
  return *parsed.value;
}

} // namespace ballast::cli

extern "C" __attribute__((visibility("default"))) int
ballast_data_main(int argc, char** argv) {
  using namespace ballast;
  cli::ending_signals signals;
  return cli::end_of_command(
      [&] { return cli::do_data(argc > 1 ? argv[1] : "", signals.stop()); },
      signals, "nothing is left half done");
}
