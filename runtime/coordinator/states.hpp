/// The states of a run's membership. Each holds what is known in it and nothing
/// else; what a run is at is which of them it is in. Plain data, owned by
/// `membership`.
#pragma once

#include "runtime/coordinator/fence.hpp"
#include "runtime/coordinator/generation_state.hpp"
#include "runtime/coordinator/past_run.hpp"
#include "runtime/coordinator/pending_rebalance.hpp"
#include "runtime/coordinator/recovery_times.hpp"
#include "runtime/coordinator/run_phase.hpp"
#include "runtime/ledger/ledger.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>

namespace ballast::coordinator {

/// Plans that are on their way into force beside the present one.
struct pending_plans {
  std::optional<membership_change> change;
  std::optional<pending_rebalance> transfer;
};

/// No job yet.
struct idle {};

/// The shard manager reads and chunks the data.
struct preparing {
  /// Of an earlier life of the coordinator; none: the run is new.
  std::optional<past_run> past;
};

/// For enough workers; no worker holds a state that counts.
struct waiting {};

/// The workers of a generation load, connect and bring their state to its base.
struct opening {
  generation_state members;
  std::optional<recovery_times> recovery; // if it follows a fence
  /// Where it begins, under the plan before; none: behind what is committed.
  std::optional<ledger::ledger> start = {};
  /// Order global: who may have computed which leaves of its first step
  /// already.
  std::map<worker_id, ledger::leaf_ranges> computed = {};
};

/// All ranks are connected and step by themselves.
struct training {
  generation_state members;
  pending_plans pending;
  std::optional<recovery_times> recovery; // until the first step is committed
  bool paused = false;                    // all stand still
};

/// Every generation so far is stopped; its members say what they hold.
struct fenced {
  generation_state members;
  pending_plans pending;
  recovery_times recovery;
  fence held;
  /// Of an earlier life of the coordinator: they may come back with a state.
  std::set<worker_id> may_return = {};
  bool short_of_workers = false; // below min_workers: the fence lasts
};

/// The last step is applied by all; they hand out the final model.
struct finishing {
  generation_state members;
  pending_plans pending;
};

/// No worker has the final model: that of a checkpoint is published.
struct publishing {
  std::string reason; // of the end
};

struct ended {
  run_phase how = run_phase::failed;
  std::string reason; // one line; empty if done
  int exit_code = 0;
  std::optional<generation_state> members; // the last ones
};

using membership_state =
    std::variant<idle, preparing, waiting, opening, training, fenced, finishing,
                 publishing, ended>;

} // namespace ballast::coordinator
