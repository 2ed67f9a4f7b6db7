/// `ballast data resample`: other shares of the classes.
#include "cli/commands/data.hpp"

#include "data/base/ordered_work.hpp"
#include "data/resampling/resampled_file.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>
#include <vector>

namespace ballast::cli {

namespace {

using nlohmann::json;

void print_json(const data::resampling_request& what,
                const data::resampling_report& found) {
  json before = json::object(), after = json::object();
  for (const data::class_rows& one : found.classes) {
    before[one.name] = one.before;
    after[one.name] = one.after;
  }
  std::cout << json_lines_text(json({{"file", what.file},
                                     {"method", to_string(what.order.what)},
                                     {"before", std::move(before)},
                                     {"after", std::move(after)},
                                     {"rows", found.rows},
                                     {"synthetic", found.made},
                                     {"resample_s", found.resample_s}}))
            << "\n";
}

void print_text(const data::resampling_request& what,
                const data::resampling_report& found) {
  std::printf("%s: %llu rows, %llu of them new, %s took %.3f s\n",
              printable(what.file).c_str(),
              static_cast<unsigned long long>(found.rows),
              static_cast<unsigned long long>(found.made),
              to_string(what.order.what).c_str(), found.resample_s);
  constexpr size_t shown_max = 50;
  for (size_t i = 0; i < found.classes.size() && i < shown_max; ++i)
    std::printf("  %s: %llu rows, now %llu\n",
                printable(found.classes[i].name).c_str(),
                static_cast<unsigned long long>(found.classes[i].before),
                static_cast<unsigned long long>(found.classes[i].after));
  if (found.classes.size() > shown_max)
    std::printf("  and %zu classes more\n", found.classes.size() - shown_max);
}

void warn_of_empty(const data::resampling_report& found) {
  for (const data::class_rows& one : found.classes)
    if (one.before > 0 && one.after == 0)
      std::cerr << "ballast: class '" << printable(one.name) << "' had "
                << one.before << " rows and has none now\n";
}

} // namespace

int resample_data(const data_order& order) {
  const json& request = order.request;
  graph::resampling_result read = graph::parse_resampling(
      request.at("method").get<std::string>(),
      request.at("options").get<std::vector<std::string>>());
  if (read.mistake)
    throw ballast_error(read.mistake);
  const data::resampling_request what{
      .node = request.at("node").get<std::string>(),
      .source = request.at("source").get<std::string>(),
      .label = request.at("label").get<std::string>(),
      .order = std::move(read.value),
      .seed = request.at("seed").get<uint64_t>(),
      .file = request.at("file").get<std::string>(),
      .with_source = request.at("with_source").get<bool>()};
  const bool shown = ::isatty(STDERR_FILENO) != 0;
  const data::resampling_report found =
      data::resample_file(order.what, what, {data::work_threads(), order.stop},
                          [shown](const std::string& line) {
                            if (shown)
                              std::cerr << "ballast: " << line << "\n";
                          });
  warn_of_empty(found);
  if (request.value("json", false))
    print_json(what, found);
  else
    print_text(what, found);
  return 0;
}

} // namespace ballast::cli
