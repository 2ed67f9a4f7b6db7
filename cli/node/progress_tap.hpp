/// What `ballast run` shows while it trains: a line for each epoch that is
/// over, and the progress line. Fed by the coordinator.
#pragma once

#include "monitor/logs/epoch_lines.hpp"
#include "monitor/logs/progress.hpp"
#include "runtime/coordinator/run_spec.hpp"
#include "runtime/coordinator/run_status.hpp"
#include "runtime/coordinator/run_tally.hpp"

#include <string>
#include <vector>

namespace ballast::cli {

/// Used on the coordinator's thread.
class progress_tap {
public:
  explicit progress_tap(bool enabled);
  void begin(const job& what) { epochs_.begin(what); }
  void tick(const coordinator::run_status& status);
  /// Steps that are committed, and what is known behind them.
  void steps(const std::vector<ledger::committed_step>& steps,
             const coordinator::run_spec& of,
             const coordinator::run_tally& known);
  void evaluated(const evaluation_report& what, bool classes);
  /// A line of its own on stderr, also without progress.
  void say(const std::string& line);
  /// The run has ended.
  void finish();

private:
  void print_epochs(bool over);

  monitor::progress_printer printer_;
  monitor::epoch_lines epochs_;
};

} // namespace ballast::cli
