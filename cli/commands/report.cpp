/// `ballast report RUN_DIR [-o FILE]` and `ballast compare RUN_DIR RUN_DIR..`:
/// one HTML file of a run, or of several. One argument, JSON: `runs`; `out`
/// (empty: report.html in the run directory, which is replaced; of several:
/// none); and `compare`.
#include "cli/commands/end_of_command.hpp"
#include "monitor/report_page.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "store/whole_file.hpp"

#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ballast::cli {

namespace {

namespace fs = std::filesystem;

void check_new(const std::string& asked) {
  std::error_code none;
  if (fs::exists(fs::symlink_status(asked, none)))
    throw ballast_error(errc::usage, "-o " + printable(asked) +
                                         ": exists already; expected the name "
                                         "of a new file");
}

void write(const fs::path& out, const std::string& page) {
  store::write_whole(out, page, store::outlives::process);
  std::cout << printable(out.string()) << std::endl;
}

void report(const fs::path& run, const std::string& asked) {
  if (!asked.empty())
    check_new(asked);
  write(asked.empty() ? run / "report.html" : fs::path(asked),
        monitor::report_page(run));
}

/// What differs in the jobs, a line each.
void compare(const std::vector<fs::path>& runs, const std::string& asked) {
  if (!asked.empty())
    check_new(asked);
  for (const auto& one : monitor::job_differences(runs)) {
    std::cout << printable(one.at("pointer").get<std::string>()) << ":";
    for (const auto& value : one.at("values"))
      std::cout << "  " << (value.is_null() ? "-" : json_text(value));
    std::cout << "\n";
  }
  if (!asked.empty())
    write(asked, monitor::comparison_page(runs));
}

int run(const nlohmann::json& request) {
  const auto out = request.at("out").get<std::string>();
  std::vector<fs::path> runs;
  for (const auto& one : request.at("runs"))
    runs.emplace_back(one.get<std::string>());
  if (request.at("compare").get<bool>())
    compare(runs, out);
  else
    report(runs.at(0), out);
  return 0;
}

} // namespace

} // namespace ballast::cli

/// argv[1] is the request.
extern "C" __attribute__((visibility("default"))) int
ballast_report_main(int argc, char** argv) {
  using namespace ballast;
  return cli::end_of_command([&] {
    return cli::run(nlohmann::json::parse(argc > 1 ? argv[1] : "{}"));
  });
}
