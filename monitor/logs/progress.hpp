/// The progress line of a run for the terminal.
#pragma once

#include "runtime/coordinator/run_status.hpp"
#include "runtime/job/job.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace ballast::monitor {

struct progress_state {
  std::string state = "training"; // shown instead of numbers before step 1
  uint64_t epoch = 0;
  uint64_t epochs = 0;
  uint64_t step = 0;
  uint64_t steps_total = 0;
  std::optional<double> samples_per_s;
  std::optional<double> loss;
  std::string best; // of the test part so far; empty: none
  uint32_t world = 0;
  uint64_t generation = 0;
  std::optional<double> skew; // largest total variation distance, 0 to 1
  std::optional<double> eta_s;
  std::optional<double> prepared;    // of the rows, 0 to 1
  std::optional<double> trains_in_s; // once they all are
};

progress_state progress_of(const coordinator::run_status& of);

/// "epoch 2/3  step 310/705  84,120 samples/s  loss 0.4312  world 2
/// generation 1  skew 0.02  ETA 0:05", on one line. What is unknown is left
/// out.
std::string render_progress(const progress_state& state);

/// The first line of `ballast run`: names the run, and says why its weights may
/// differ next time. "fashion-mlp-1: 2 workers, seed 1; ...", on one line.
std::string first_line(const std::string& run, const job& what);

/// Writes the progress line to a descriptor (stderr): on a terminal one line
/// that is rewritten at most 10 times a second and cut to its width; otherwise
/// a line every 5 s. Time is an argument: any monotonic clock, in nanoseconds.
/// One thread at a time.
class progress_printer {
public:
  /// `enabled` = false (--no-progress) never prints.
  explicit progress_printer(int descriptor, bool enabled = true);

  /// Prints if a line is due.
  void update(const progress_state& state, int64_t now_ns);
  /// Prints the state a last time and ends the line.
  void finish(const progress_state& state);
  /// Wipes the line on a terminal, so that other text can be printed.
  void clear();

  bool terminal() const { return terminal_; }

private:
  void print(const progress_state& state);

  int descriptor_;
  bool enabled_;
  bool terminal_;
  bool line_open_ = false;
  std::optional<int64_t> printed_ns_;
};

} // namespace ballast::monitor
