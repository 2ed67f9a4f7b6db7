#include "cli/node/progress_tap.hpp"

#include "runtime/coordinator/status.hpp"

#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace ballast {

namespace {

progress_state progress_of(const nlohmann::json& status) {
  progress_state out;
  out.state = status["state"];
  auto number = [&status](const char* key) {
    return status.contains(key) && status[key].is_number()
               ? status[key].get<double>()
               : 0.0;
  };
  out.epoch = uint64_t(number("epoch"));
  out.epochs = uint64_t(number("epochs"));
  out.step = uint64_t(number("step"));
  out.steps_total = uint64_t(number("steps_total"));
  out.world = uint32_t(number("world"));
  out.generation = uint64_t(number("generation"));
  if (out.step > 0) {
    out.loss = number("loss");
    out.skew = number("skew_tv_max");
    double rate = number("samples_per_s");
    if (rate > 0) {
      out.samples_per_s = rate;
      double per_step = number("samples") / number("step");
      out.eta_s = double(out.steps_total - out.step) * per_step / rate;
    }
  }
  return out;
}

} // namespace

progress_tap::progress_tap(bool enabled) : printer_(STDERR_FILENO, enabled) {}

void progress_tap::tick(const coordinator_core& core) {
  if (!core.active())
    return;
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  last_ = progress_of(status_json(core, now));
  printer_.update(last_, now.count());
}

void progress_tap::say(const std::string& line) {
  printer_.clear();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void progress_tap::finish(const nlohmann::json& report) {
  if (report.is_object()) {
    last_.state = report.value("state", last_.state);
    last_.step = report.value("steps", last_.step);
    if (report["samples_per_s"].is_number())
      last_.samples_per_s = report["samples_per_s"];
    if (report["train_loss"].is_number())
      last_.loss = report["train_loss"];
  }
  printer_.finish(last_);
}

} // namespace ballast
