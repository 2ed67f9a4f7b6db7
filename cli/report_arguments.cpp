#include "cli/report_arguments.hpp"

#include "cli/node_library.hpp"
#include "runtime/base/json_text.hpp"

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace ballast::cli {

void add_report_command(CLI::App& app, std::function<int()>& chosen) {
  struct arguments {
    std::string run;
    std::string out;
  };
  const auto a = std::make_shared<arguments>();
  CLI::App* command = app.add_subcommand(
      "report", "How a run went, as one HTML file that needs nothing else");
  command->add_option("run", a->run, "RUN_DIR, of a run in any state")
      ->required();
  command->add_option("-o,--out", a->out,
                      "A new file; default report.html in RUN_DIR, which is "
                      "replaced");
  command->callback([a, &chosen] {
    chosen = [a] {
      return call_node_library(
          "report",
          {json_text(nlohmann::json{{"run", a->run}, {"out", a->out}})});
    };
  });
}

} // namespace ballast::cli
