#include "monitor/step_log.hpp"

#include "monitor/clock.hpp"
#include "runtime/errors.hpp"

#include <nlohmann/json.hpp>

namespace ballast {

namespace {

/// The documented keys in the documented order.
std::string line_of(const committed_step& step) {
  nlohmann::ordered_json line = {
      {"step", value(step.step)},
      {"epoch", value(step.epoch)},
      {"generation", value(step.generation)},
      {"plan", value(step.plan)},
      {"world", step.world},
      {"samples", step.samples},
      {"loss", step.loss},
      {"t_ns", step.t_ns},
      {"time", utc_time(wall_ns_of(int64_t(step.t_ns)))},
  };
  return line.dump() + "\n";
}

} // namespace

step_log::step_log(const std::filesystem::path& file) : file_(file) {
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

void step_log::append(std::span<const committed_step> steps) {
  step_number last = last_;
  std::string lines;
  for (const committed_step& step : steps) {
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

} // namespace ballast
