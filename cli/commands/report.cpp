/// `ballast report RUN_DIR [-o FILE]`: one HTML file of a run. One argument,
/// JSON: `run`, and `out` (empty: report.html in the run directory, which is
/// replaced).
#include "cli/commands/end_of_command.hpp"
#include "monitor/report_page.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"
#include "store/atomic_file.hpp"
#include "store/refuse_file.hpp"

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

namespace ballast::cli {

namespace {

namespace fs = std::filesystem;

int report(const nlohmann::json& request) {
  const fs::path run = request.at("run").get<std::string>();
  const auto asked = request.at("out").get<std::string>();
  const fs::path out = asked.empty() ? run / "report.html" : fs::path(asked);
  std::error_code none;
  if (!asked.empty() && fs::exists(fs::symlink_status(out, none)))
    throw ballast_error(errc::usage, "-o " + printable(asked) +
                                         ": exists already; expected the name "
                                         "of a new file");
  const std::string page = monitor::report_page(run);
  try {
    store::atomic_file file(out, {.durability = store::outlives::process});
    file.append(page);
    file.publish();
  } catch (const store::file_failure& problem) {
    store::refuse_file(out, problem.action(), problem.number());
  }
  std::cout << printable(out.string()) << std::endl;
  return 0;
}

} // namespace

} // namespace ballast::cli

/// argv[1] is the request.
extern "C" __attribute__((visibility("default"))) int
ballast_report_main(int argc, char** argv) {
  using namespace ballast;
  return cli::end_of_command([&] {
    return cli::report(nlohmann::json::parse(argc > 1 ? argv[1] : "{}"));
  });
}
