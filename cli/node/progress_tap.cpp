#include "cli/node/progress_tap.hpp"

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace ballast::cli {

progress_tap::progress_tap(bool enabled) : printer_(STDERR_FILENO, enabled) {}

void progress_tap::tick(const coordinator::run_status& status) {
  auto now = std::chrono::steady_clock::now().time_since_epoch();
  last_ = monitor::progress_of(status);
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

} // namespace ballast::cli
