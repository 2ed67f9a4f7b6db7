/// The life of one run in a worker process, from the first assignment until its
/// state is dropped: which orders of the coordinator count now, and what
/// follows from them. Pure: orders and news from the threads in, actions out.
/// The engine (actors/worker_engine.hpp) performs the actions with threads,
/// LibTorch and Flight, the simulator in virtual time; neither decides anything
/// else.
///
///   idle --assignment--> loading --loaded--> listening --connect--> joining
///   joining --ready--> stepping --switched--> joining (of the next generation)
///   any of these --fence--> fenced --assignment--> loading
///   any of these --leave--> leaving --dropped--> idle
///
/// While it steps, the generation that comes next may get ready beside the
/// present one. Not thread-safe; the engine guards it.
#pragma once

#include "runtime/messages/messages.hpp"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ballast::worker {

// -- what its owner does, in this order ---------------------------------------

/// Fetch the share, make model and state unless they are here, and listen; then
/// on_loaded() or on_load_failed().
struct load_share {
  assignment order;
};
/// The same for the generation that comes next, while this one goes on.
struct load_beside {
  assignment order;
};
/// Connect the ranks that listen, bring every state to the base, on_ready(),
/// and train.
struct join_ranks {
  connect_order order;
};
/// Connect the ranks of the next generation, for the switch; on_switched().
struct join_beside {
  connect_order order;
};
/// Nothing is applied any more; leave every wait. What is held stays.
struct stop_generations {
  std::string reason;
};
/// End every thread of the run and free all it holds; then on_dropped().
struct drop_run {
  std::string reason;
};
/// Tell the owner of the process that leave() is done.
struct answer_leave {};
/// To the step thread, between two steps.
struct post_command {
  command order;
};
struct post_plan {
  ledger::plan pending;
};
/// Of a user who wants to see what the others do: a slow worker, damaged
/// chunks.
struct inject_fault {
  command order;
};
/// The coordinator has these steps on its disk.
struct forget_steps {
  step_number recorded{};
};
struct copy_chunks {
  fetch_order order;
};
struct send_report {
  worker_report what;
};
/// The device is lost for this process; another process may go on.
struct end_process {
  std::string reason;
};
using worker_action =
    std::variant<load_share, load_beside, join_ranks, join_beside,
                 stop_generations, drop_run, answer_leave, post_command,
                 post_plan, inject_fault, forget_steps, copy_chunks,
                 send_report, end_process>;
using worker_actions = std::vector<worker_action>;

class worker_lifecycle {
public:
  /// `device_ends_process`: a device that fails in a step fails for ever in
  /// this process, as a GPU does.
  explicit worker_lifecycle(bool device_ends_process = false)
      : device_ends_process_(device_ends_process) {}

  // -- orders of the coordinator; those of an earlier generation are dropped

  worker_actions on_assignment(const assignment& order);
  worker_actions on_connect(const connect_order& order);
  /// Whoever calls this answers with final_ack, once the actions are performed;
  /// the answer may name a state only if may_hold_state().
  worker_actions on_fence(const fence_order& order);
  worker_actions on_command(const command& order);
  worker_actions on_plan(const plan_offer& offer);
  worker_actions on_fetch(const fetch_order& order);
  /// The run is over for this worker: answer_leave follows, now or later.
  worker_actions leave(const std::string& reason);

  // -- news from the threads; those of a generation that was stopped are
  // dropped

  /// `state_bytes`: of the training state; 0: not known.
  worker_actions on_loaded(generation of, std::string collective_address,
                           std::string data_address, uint64_t state_bytes = 0,
                           std::string probe = {});
  worker_actions on_load_failed(generation of, worker_failed why);
  /// The next generation is in force. False: it was stopped.
  bool on_switched();
  /// Of the step thread; worker and generation are filled in here.
  worker_actions on_report(worker_report what);
  worker_actions on_fetched(chunks_fetched what);
  worker_actions on_dropped();

  // -- what is true now

  /// Of the run that is here, whether it goes on or is fenced; else null.
  const assignment* present() const;
  /// Getting ready beside the present one; else null.
  const assignment* next() const;
  /// This generation is loaded, opened or trained here; work for another one is
  /// pointless.
  bool wants(generation of) const;
  bool wants_copy(plan_number number) const { return copying_ == number; }
  /// False: what is here is on its way out, or lost.
  bool may_hold_state() const { return present() != nullptr; }
  /// The newest one heard of.
  generation newest() const;
  /// While no step thread says more.
  worker_phase phase() const;
  /// "idle", "loading", ...
  const char* state() const;

private:
  struct idle {};
  struct loading {
    assignment order;
  };
  struct listening {
    assignment order;
  };
  struct joining {
    assignment order;
  };
  struct beside {
    enum class progress : uint8_t { loading, listening, joining };
    assignment order;
    progress at = progress::loading;
  };
  struct stepping {
    assignment order;
    std::optional<beside> next;
  };
  struct fenced {
    assignment order;
  };
  struct leaving {
    bool asked = false;             // by leave(): it is to be answered
    std::optional<assignment> then; // what came meanwhile
  };
  struct lost {};

  beside* next_in(generation of, beside::progress at);
  /// It has a step thread, which goes on.
  bool runs() const;

  bool device_ends_process_;
  generation fenced_{}; // nothing up to this one goes on
  plan_number copying_{};
  std::variant<idle, loading, listening, joining, stepping, fenced, leaving,
               lost>
      state_;
};

} // namespace ballast::worker
