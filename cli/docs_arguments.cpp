#include "cli/docs_arguments.hpp"

#include "cli/completion.hpp"
#include "cli/manual_page.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/graph/resampling_methods.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/job_text.hpp"
#include "runtime/messages/control.hpp"
#include "runtime/metrics/metric_catalogue.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ballast::cli {

namespace {

using topics = std::map<std::string, std::function<std::string()>>;

topics topics_of(const CLI::App& app) {
  return {{"job", job_reference},
          {"job-schema", [] { return json_lines_text(job_schema()) + "\n"; }},
          {"errors", error_reference},
          {"metrics-of-models", metrics::metrics_reference},
          {"resampling", graph::resampling_reference},
          {"schema", [] { return json_lines_text(api_schema()) + "\n"; }},
          {"completion", [&app] { return bash_completion(app); }},
          {"completion-zsh", [&app] { return zsh_completion(app); }},
          {"completion-fish", [&app] { return fish_completion(app); }},
          {"man", [&app] { return manual_page(app); }}};
}

} // namespace

void add_docs_command(CLI::App& app, std::function<int()>& chosen) {
  CLI::App* docs = app.add_subcommand("docs", "Print a generated document");
  docs->group(""); // hidden
  const auto topic = std::make_shared<std::string>();
  std::vector<std::string> known;
  for (const auto& one : topics_of(app))
    known.push_back(one.first);
  docs->add_option("topic", *topic)->required()->check(CLI::IsMember(known));
  docs->callback([&app, &chosen, topic] {
    chosen = [&app, topic] {
      std::cout << topics_of(app).at(*topic)();
      return 0;
    };
  });
}

} // namespace ballast::cli
