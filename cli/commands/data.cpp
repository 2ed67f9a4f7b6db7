/// `ballast data ...` and `ballast validate --data`: the thin program hands
/// over a request as JSON, with the job in it.
#include "cli/commands/data.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace ballast::cli {

namespace {

using nlohmann::json;

int do_data(const std::string& text) {
  const json request = json::parse(text);
  job_result parsed = parse_job(json_text(request.at("job")), {}, "/");
  if (!parsed.value)
    throw ballast_error(parsed.mistakes.at(0));
  static const std::map<std::string, int (*)(const job&, const json&)> all{
      {"keep_input", keep_input},   {"validate", validate_data},  {"show", show_data},
      {"profile", profile_data},    {"prepare", prepare_data},
      {"split", write_data},        {"write", write_data},
      {"partition", partition_data}};
  keep_standard_input(*parsed.value);
  const int code =
      all.at(request.at("do").get<std::string>())(*parsed.value, request);
  std::cout.flush();
  return code;
}

} // namespace

} // namespace ballast::cli

extern "C" __attribute__((visibility("default"))) int
ballast_data_main(int argc, char** argv) {
  using namespace ballast;
  try {
    return cli::do_data(argc > 1 ? argv[1] : "");
  } catch (const ballast_error& error) {
    std::cerr << "ballast: " << error.what() << "\n";
    return describe(error.what_failed().code).exit_code;
  } catch (const std::exception& error) {
    std::cerr << "ballast: " << printable(error.what()) << "\n";
    return 1;
  }
}
