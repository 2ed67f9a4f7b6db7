#include "monitor/logs/step_log.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "store/clock.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace ballast::monitor {

namespace {

/// The documented keys in the documented order.
std::string line_of(const ledger::committed_step& step) {
  nlohmann::ordered_json line = {
      {"step", value(step.step)},
      {"epoch", value(step.epoch)},
      {"generation", value(step.generation)},
      {"plan", value(step.plan)},
      {"world", step.world},
      {"samples", step.samples},
      {"loss", step.loss},
      {"t_ns", step.t_ns},
      {"time", store::utc_time(store::wall_ns_of(int64_t(step.t_ns)))},
  };
  return json_text(line) + "\n";
}

} // namespace

step_log::step_log(const std::filesystem::path& file)
    : file_(file, "steps.append") {
  std::string last = file_.last_line();
  if (last.empty())
    return;
  nlohmann::json line = nlohmann::json::parse(last, nullptr, false);
  if (!line.is_object() || !line.contains("step") ||
      !line["step"].is_number_unsigned())
    throw ballast_error(errc::run_dir_unusable,
                        "the last line of " + file.string() +
                            " is no step: " + last.substr(0, 200));
  last_ = step_number{line["step"].get<uint64_t>()};
}

void step_log::append(std::span<const ledger::committed_step> steps) {
  step_number last = last_;
  std::string lines;
  for (const ledger::committed_step& step : steps) {
    if (step.step != next(last))
      throw ballast_error(errc::internal,
                          "committed step " + to_string(step.step) +
                              " does not follow step " + to_string(last) +
                              " in " + file_.path().string());
    last = step.step;
    lines += line_of(step);
  }
  file_.append(lines);
  last_ = last;
}

uint64_t step_log::cut(step_number to, const std::filesystem::path& undone) {
  std::ifstream in(file_.path());
  std::string lines;
  uint64_t bytes_kept = 0, samples = 0;
  for (std::string line; std::getline(in, line);) {
    nlohmann::json step = nlohmann::json::parse(line, nullptr, false);
    if (step.is_object() && step.value("step", uint64_t{0}) <= value(to)) {
      bytes_kept += line.size() + 1;
      continue;
    }
    if (step.is_object())
      samples += step.value("samples", uint64_t{0});
    lines += line + "\n";
  }
  store::line_file kept(undone, "undo.append");
  kept.append(lines);
  kept.sync();
  file_.shorten(bytes_kept);
  last_ = std::min(last_, to);
  return samples;
}

} // namespace ballast::monitor
