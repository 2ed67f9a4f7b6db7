/// What a worker decides: which rows feed its next step, what it says in the
/// trailer, and what follows from the reduced trailer. Pure; the step thread
/// owns it and drives it.
///
/// Order of calls for every step:
///   draw()            may run one step ahead of the step in flight (prefetch)
///   contribution()    when the own gradient is known
///   reduced()         with the summed trailer, before anything is applied
///   applied()         after the optimizer
#pragma once

#include "runtime/base/errors.hpp"
#include "runtime/ledger/ledger.hpp"
#include "runtime/ledger/spot_checks.hpp"
#include "runtime/messages/evaluation_schedule.hpp"
#include "runtime/messages/messages.hpp"
#include "runtime/worker/trailer.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace ballast::worker {

struct worker_core_config {
  ledger::ledger_config ledger;
  worker_id self{};
  uint64_t epochs = 1;
  /// verify.every_steps: after so many steps some leaves are computed twice.
  uint32_t check_every_steps = 0;
  /// train.compression: steps leave out a part of their gradient and send it
  /// later. A copy of the state is agreed on one step ahead then, so that there
  /// is nothing left to be sent when it is made.
  bool compresses = false;
  /// An evaluation may end the run: the step before it may be the last.
  bool may_end_early = false;
  /// evaluate.every: steps; none: at the end of each epoch.
  std::optional<uint64_t> evaluate_every = {};
};

/// One step as this worker will do it.
struct step_order {
  ledger::position at;
  ballast::generation generation{};
  plan_number plan{};
  uint64_t samples = 0;              // of all workers
  std::vector<ledger::row_ref> rows; // own, in their order
  /// Order global: the leaves of each rank, of which `rows` are those of this
  /// one's; else none.
  std::vector<ledger::leaf_ranges> leaves;
  /// What of the step is computed twice, and the rows of the leaf that this
  /// rank computes again.
  std::vector<ledger::spot_check> checks = {};
  std::vector<ledger::row_ref> checked_rows = {};
  /// With a window, or of order global: the chunks of this worker by their next
  /// use, from this step on and into the next epoch. Null: as in the order
  /// before.
  std::shared_ptr<const std::vector<chunk_id>> upcoming = {};
};

/// What an applied step brings with it.
struct step_end {
  bool evaluate = false; // the test part, now
  bool plan_switched = false;
  bool pause = false;  // stand still, wait for resume()
  bool copy = false;   // all ranks copy their part of the state now
  bool left = false;   // the plan in force does not name this worker any more
  bool finish = false; // nothing more to do: last epoch done, or stopped
};

/// What a rank says of copies of the state in a step's trailer. All ranks copy
/// after the same step, each its part.
struct copy_wish {
  bool due = false;   // by the job's interval; of rank 0
  bool asked = false; // by the coordinator; of rank 0
  bool busy = false;  // with the copy before; one that is due waits then
};

class worker_core {
public:
  /// Precondition: `first` names `self` and is a partition.
  worker_core(worker_core_config config, ledger::plan first,
              ledger::position start,
              std::vector<ledger::worker_cursor> cursors = {});

  // -- steps ------------------------------------------------------------------

  /// The next step not yet drawn, or nothing when the run ends (or is agreed to
  /// end) before it. At most one step ahead of the one in flight.
  std::optional<step_order> draw();
  /// The step in flight sends its whole gradient, and what steps before have
  /// left out (train.compression): after it the state is copied, the run stands
  /// still or ends, or the ranks are others. Equal on all of them.
  bool leaves_nothing_out() const;
  /// The step after which the state is copied if the step in flight wishes it.
  step_number copied_after() const;
  /// The trailer of the step in flight.
  trailer contribution(uint64_t samples, double loss_sum, copy_wish copy = {});
  /// Takes in the sums. A failure means that ranks disagree on what this step
  /// is: apply nothing.
  failure reduced(const trailer& sums);
  /// The step in flight is in the parameters.
  step_end applied();

  // -- requests from the control plane ----------------------------------------

  /// A pending plan whose data are all here: joins its lane from now on.
  /// Refused (with the reason) if it is not newer or not of this generation.
  failure install(const ledger::plan& pending);
  void request_pause() { pause_wanted_ = true; }
  void request_stop() { stop_wanted_ = true; }
  /// All ranks stand still at one place and are told to end there.
  void stop_here() { stopped_ = true; }
  /// Ends a pause.
  void resume() { pause_wanted_ = false; }

  // -- state ------------------------------------------------------------------

  /// The next step to apply.
  ledger::position stands_at() const { return applied_.next(); }
  size_t rank() const { return rank_; }
  size_t world() const { return applied_.current().shares.size(); }
  const ledger::plan& current() const { return applied_.current(); }
  /// Of the step in flight, of order global: the rows of any leaf.
  std::vector<ledger::row_ref> rows_of_leaf(uint32_t leaf) const;
  uint64_t steps_total() const;
  epoch_number epoch_of(step_number step) const {
    return epoch_number{(value(step) - 1) / applied_.steps_per_epoch() + 1};
  }
  /// Where everybody stands, by rank; for a joiner.
  std::vector<ledger::worker_cursor> cursors() const;
  bool stopped() const { return stopped_; }

private:
  /// Something all ranks agreed on, in force after `after`.
  struct agreement {
    step_number after{};
    std::optional<ledger::plan> switch_to;
    bool pause = false;
    bool stop = false;
  };
  bool ends_before(ledger::position at) const;
  void renew_own_order();
  void renew_turns();
  std::shared_ptr<const std::vector<chunk_id>> upcoming() const;
  void draw_checks(step_order& out) const;

  worker_core_config config_;
  ledger::ledger applied_; // stands at the step in flight
  evaluation_schedule evaluations_;
  ledger::ledger ahead_;  // stands at the next step to draw
  ledger::row_order own_; // stands where ahead_ stands
  plan_number own_since_{};
  epoch_number own_epoch_{};
  bool own_fresh_ = false;           // no order has told what is upcoming in it
  std::vector<chunk_id> next_turns_; // of the next epoch, with a window
  size_t rank_ = 0;                  // under applied_'s plan
  size_t ahead_rank_ = 0;            // under ahead_'s plan
  std::optional<ledger::plan> pending_;
  plan_number contributed_{}; // the plan whose lane this step's trailer raised
  std::optional<agreement> agreed_;
  bool contributed_pause_ = false;
  bool contributed_stop_ = false;
  bool copies_ = false;      // all ranks, after the step in flight
  bool copies_next_ = false; // if it compresses: after the step that comes
  bool pause_wanted_ = false;
  bool stop_wanted_ = false;
  bool stopped_ = false;
};

} // namespace ballast::worker
