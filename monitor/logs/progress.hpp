/// The progress line of a run for the terminal.
#pragma once

#include "runtime/coordinator/run_status.hpp"
#include "runtime/job/job.hpp"

#include <cstddef>
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
  std::optional<double> test_loss; // of the newest evaluation
  std::string best;                // of the test part so far; empty: none
  uint32_t world = 0;
  uint64_t generation = 0;
  std::optional<double> skew; // largest total variation distance, 0 to 1
  std::optional<double> eta_s;
  std::optional<double> prepared;    // of the rows, 0 to 1
  std::optional<double> trains_in_s; // once they all are
};

progress_state progress_of(const coordinator::run_status& of);

/// "epoch 2/3  step 310/705  loss 0.4312  test 0.4391  84.1 k samples/s  ETA
/// 0:05  world 2  generation 1  skew 0.02", on one line. What is unknown is
/// left out, and of what does not fit into `columns` the least important: epoch
/// and loss stay longest.
std::string render_progress(const progress_state& state,
                            size_t columns = SIZE_MAX);

/// The first line of `ballast run`: names the run, and says why its weights may
/// differ next time. "fashion-mlp-1: 2 workers, seed 1; ...", on one line.
std::string first_line(const std::string& run, const job& what);

/// Writes to a descriptor (stderr): lines that stay, and on a terminal below
/// them the progress line, which is rewritten at most 10 times a second and
/// fits into the width. What is no terminal gets the lines that stay and no
/// others. Time is an argument: any monotonic clock, in nanoseconds. One thread
/// at a time.
class progress_printer {
public:
  /// `enabled` = false (--no-progress) never prints.
  explicit progress_printer(int descriptor, bool enabled = true);

  /// Rewrites the line if that is due.
  void update(const progress_state& state, int64_t now_ns);
  /// A line that stays; the progress line goes on below it.
  void keep(const std::string& line);
  /// Wipes the line on a terminal, so that other text can be printed.
  void clear();

  bool terminal() const { return terminal_; }

private:
  int descriptor_;
  bool enabled_;
  bool terminal_;
  bool line_open_ = false;
  std::optional<int64_t> printed_ns_;
};

} // namespace ballast::monitor
