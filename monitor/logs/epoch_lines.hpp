/// The line that stays on the terminal, or in a log, of each epoch that is
/// over. Pure: fed with steps as they are committed, and with evaluations,
/// which may overtake the steps before them.
#pragma once

#include "runtime/job/job.hpp"
#include "runtime/ledger/commit.hpp"
#include "runtime/messages/evaluation_report.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ballast::monitor {

struct finished_epoch {
  uint64_t epoch = 0;
  step_number judged{}; // the newest evaluation of it that is due; 0: none
  uint64_t epochs = 0;
  std::optional<double> loss;      // mean over its samples
  std::optional<double> test_loss; // of its evaluation; none: there was none
  std::string metric;              // empty: none
  double value = 0;                // of the metric
  std::optional<double> seconds;   // of its steps, without evaluations
  std::optional<double> samples_per_s;
};

/// "epoch 3/10  loss 0.4127  test 0.4391  f1_macro 0.8712  12.3 s  81.2 k
/// samples/s". What is unknown is left out.
std::string render_epoch(const finished_epoch& of);

class epoch_lines {
public:
  /// A run of this job begins, or is gone on with.
  void begin(const job& what);

  struct end {
    std::optional<double> loss; // none: the mean of the steps that came here
  };
  /// `over`: it is the last step of its epoch. A step that was committed before
  /// came back: what was undone is forgotten.
  void committed(const ledger::committed_step& step, std::optional<end> over);
  /// `classes`: the labels are classes, and so it has an accuracy.
  void evaluated(const evaluation_report& what, bool classes);

  /// The lines that are due, each once: of epochs whose newest evaluation is
  /// known, or that the run is a whole epoch past. `over`: also of those that
  /// are still to be evaluated. Of a run with more than `each_max` epochs one
  /// line a second stands for all epochs since the one before.
  std::vector<std::string> take(int64_t now_ns, bool over = false);
  static constexpr uint64_t each_max = 100;

private:
  struct sums {
    uint64_t epoch = 0;
    step_number first{};
    uint64_t samples = 0;
    double loss = 0;
    uint64_t loss_samples = 0;
    uint64_t timed_samples = 0; // of steps whose duration is known
    uint64_t timed_ns = 0;
  };
  bool is_ready(const finished_epoch& one) const;
  step_number judged_in(const ledger::committed_step& last) const;
  void forget(uint64_t from_epoch);
  void measure(const ledger::committed_step& step);
  void add_test(finished_epoch& to) const;

  uint64_t epochs_ = 0;
  bool tests_any_ = false;
  std::optional<uint64_t> every_; // evaluations, in steps; none: each epoch
  std::string metric_; // that stop or keep look at; empty: the first one
  sums now_;
  std::optional<ledger::committed_step> last_;
  uint64_t evaluated_ns_ = 0; // since the last step
  std::deque<finished_epoch> ended_;
  struct tested {
    step_number after{}; // the newest evaluation of an epoch counts
    finished_epoch found;
  };
  std::map<uint64_t, tested> tests_; // by epoch
  std::optional<int64_t> printed_ns_;
};

} // namespace ballast::monitor
