#include "cli/report_arguments.hpp"

#include "cli/node_library.hpp"
#include "runtime/base/json_text.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ballast::cli {

namespace {

struct arguments {
  std::vector<std::string> runs;
  std::string out;
};

int work(const arguments& a, bool compare) {
  return call_node_library(
      "report", {json_text(nlohmann::json{
                    {"runs", a.runs}, {"out", a.out}, {"compare", compare}})});
}

} // namespace

void add_report_commands(CLI::App& app, std::function<int()>& chosen) {
  const auto a = std::make_shared<arguments>();
  CLI::App* report = app.add_subcommand(
      "report", "How a run went, as one HTML file that needs nothing else");
  report->add_option("run", a->runs, "RUN_DIR, of a run in any state")
      ->required()
      ->expected(1);
  report->add_option("-o,--out", a->out,
                     "A new file; default report.html in RUN_DIR, which is "
                     "replaced");
  report->callback([a, &chosen] { chosen = [a] { return work(*a, false); }; });
  CLI::App* compare = app.add_subcommand(
      "compare", "What differs in the jobs of runs; with -o how they went");
  compare->add_option("runs", a->runs, "RUN_DIR RUN_DIR.., 2 to 8")
      ->required()
      ->expected(2, 8);
  compare->add_option("-o,--out", a->out,
                      "A new HTML file, with their curves over each other");
  compare->callback([a, &chosen] { chosen = [a] { return work(*a, true); }; });
}

} // namespace ballast::cli
