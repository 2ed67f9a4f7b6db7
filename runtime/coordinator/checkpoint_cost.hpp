/// What checkpoints cost a run, by the times of its committed steps, and how
/// often to make one by that. A copy of the state lengthens a few steps and is
/// on the disk later; a failure that no holder of the state survives takes what
/// was trained since the newest one that is. Begun anew with each run; pure.
#pragma once

#include "runtime/base/instant.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/commit.hpp"

#include <cstdint>
#include <deque>
#include <optional>

namespace ballast::coordinator {

/// Seconds of training between two checkpoints with which the least time is
/// lost, where each holds training up by `pause_s` and the state is lost every
/// `mttf_s` on the mean: the higher-order estimate of Daly (2006), for small
/// pauses Young's (1974) sqrt(2 * pause * mttf) less the pause.
double best_work_s(double pause_s, double mttf_s);

/// What is shown of it. Seconds of training unless said otherwise.
struct checkpoint_figures {
  /// Of checkpoints that are made some time apart.
  struct plan {
    double interval_s = 0;  // from one to the next, its pause included
    double pause_ratio = 0; // part of the time that they hold training up
    double lost_s = 0;      // on the mean, by a failure that takes the state
    double waste_ratio = 0; // part of the time that both cost
  };
  /// Once it was measured with some copies.
  struct measured {
    double pause_s = 0; // by which a copy holds training up; median
    double saved_s = 0; // from the copy until it is on the disk; median
    plan now;           // by the job's settings
    plan best;
    checkpoint_spec advice; // the job's settings that come near the best
  };
  step_number newest{}; // on the disk; 0: none
  /// The newest in memory, 0: none yet; nothing: they only go to the disk.
  std::optional<step_number> in_memory;
  std::optional<double> step_s; // the usual time of one; median
  double trained_s = 0;
  uint64_t undone = 0;  // failures that took the state
  double mttf_s = 0;    // mean time between those
  bool assumed = false; // it is: none was seen
  std::optional<measured> cost;
};

class checkpoint_cost {
public:
  /// Of earlier lives of the coordinator.
  void restore(uint64_t trained_ns, uint64_t undone);
  /// The next committed step. `evaluated_ns` before it are no part of it.
  void step(const ledger::committed_step& what, uint64_t evaluated_ns);
  /// A worker has copied the state after that step.
  void copied(step_number after, instant now);
  /// It is on the disk, or not to be had.
  void saved(step_number after, bool published, instant now);
  /// Steps were undone: nobody held the state any more.
  void went_back();

  /// `in_memory`: as in the figures.
  checkpoint_figures figures(const checkpoint_spec& asked, step_number newest,
                             std::optional<step_number> in_memory = {}) const;

private:
  struct timed_step {
    step_number number{};
    uint64_t ns = 0;
  };
  /// The copy that is saved now, and the steps meanwhile.
  struct watch {
    step_number after{};
    instant since{};
    std::optional<double> saved_s = {};
    uint64_t steps = 0;
    uint64_t ns = 0;
    bool broken = false; // the time of one of them is not known
  };
  struct sample {
    double pause_s = 0;
    double saved_s = 0;
  };

  void count(const timed_step& what);
  void close();

  std::optional<ledger::committed_step> last_;
  std::deque<timed_step> usual_; // the newest while no copy was saved
  std::optional<watch> copy_;
  std::deque<sample> samples_; // of the newest copies
  uint64_t trained_ns_ = 0;
  uint64_t undone_ = 0;
};

} // namespace ballast::coordinator
