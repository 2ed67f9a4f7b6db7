#include "cli/node/progress_tap.hpp"

#include <chrono>
#include <cstdio>
#include <unistd.h>

namespace ballast::cli {

namespace {

int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

/// Whose mean loss the tally has.
epoch_number newest_end(const coordinator::run_spec& of,
                        const ledger::committed_step& last) {
  if (last.step == of.end_of(last.epoch))
    return last.epoch;
  return epoch_number{value(last.epoch) == 0 ? 0 : value(last.epoch) - 1};
}

} // namespace

progress_tap::progress_tap(bool enabled) : printer_(STDERR_FILENO, enabled) {}

void progress_tap::tick(const coordinator::run_status& status) {
  print_epochs(false);
  printer_.update(monitor::progress_of(status), now_ns());
}

void progress_tap::steps(const std::vector<ledger::committed_step>& steps,
                         const coordinator::run_spec& of,
                         const coordinator::run_tally& known) {
  const epoch_number newest = newest_end(of, known.last);
  for (const ledger::committed_step& step : steps) {
    std::optional<monitor::epoch_lines::end> over;
    if (step.step == of.end_of(step.epoch))
      over.emplace();
    // It knows the steps of earlier lives, too.
    if (over && step.epoch == newest)
      over->loss = known.train_loss;
    epochs_.committed(step, over);
  }
  print_epochs(false);
}

void progress_tap::evaluated(const evaluation_report& what, bool classes) {
  epochs_.evaluated(what, classes);
  print_epochs(false);
}

void progress_tap::print_epochs(bool over) {
  for (const std::string& line : epochs_.take(now_ns(), over))
    printer_.keep(line);
}

void progress_tap::say(const std::string& line) {
  printer_.clear();
  std::fprintf(stderr, "%s\n", line.c_str());
}

void progress_tap::finish() {
  print_epochs(true);
  printer_.clear();
}

} // namespace ballast::cli
