/// What the coordinator does: for each event a function from its state to the
/// next one, and the transitions that several share. Each changes the parts
/// through their methods, and puts what is to be done into the outbox, in
/// order. Events that do not fit the state change nothing.
#pragma once

#include "runtime/coordinator/events.hpp"
#include "runtime/coordinator/parts.hpp"

#include <concepts>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace ballast::coordinator {

using hello_answer = std::variant<welcome, failure>;

// -- joining.cpp, losing.cpp, silence.cpp: nodes come and go ------------------
/// A node introduces itself: it is taken in, or why not.
hello_answer greet(coordinator_parts& p, const worker_hello& hello,
                   instant now);
void on(coordinator_parts& p, const heartbeat& beat, instant now);
void on(coordinator_parts& p, const connection_lost& what, instant now);
void on(coordinator_parts& p, const process_ended& what, instant now);
void on(coordinator_parts& p, const leave_announced& what, instant now);
void on(coordinator_parts& p, const clock_tick&, instant now);

/// Every report of a death ends here.
void lose(coordinator_parts& p, const loss_report& what, instant now);
void exclude(coordinator_parts& p, const loss_report& what, instant now);
/// Its process may still be there.
void show_out(coordinator_parts& p, worker_id who, std::string dismissed = {},
              std::string reason = {});
/// The one line of events.jsonl about a loss, and the reason of what follows.
void tell_loss(coordinator_parts& p, worker_id who, const loss_cause& cause);
/// The reason of a loss is final: what waited for it happens.
void explain(coordinator_parts& p, worker_id who, const loss_cause& cause,
             instant now);
/// It owes nothing to the others, or nothing any more.
void let_go(coordinator_parts& p, worker_id who);
/// `run` keeps as many workers as were asked for.
void replace_workers(coordinator_parts& p);
/// A long run sees many come and go.
void forget_dead(coordinator_parts& p);

// -- what workers report: each kind in the source of its topic ----------------
template <class Report, class... Kinds>
constexpr bool is_kind_of(const std::variant<Kinds...>*) {
  return (std::same_as<Report, Kinds> || ...);
}

/// Specialised for every kind; one that lacks does not link.
template <class Report>
requires(is_kind_of<Report>(static_cast<worker_report*>(nullptr))) void on(
    coordinator_parts& p, const Report& message, instant now);

template <std::same_as<worker_report> Report>
void on(coordinator_parts& p, const Report& what, instant now) {
  std::visit([&](const auto& one) { on(p, one, now); }, what);
}

// -- beginning.cpp, opening.cpp: from the job to the first step ---------------

/// `life`: of the run's journal; `token`: of the run. A second job is refused.
failure submit(coordinator_parts& p, const job& what, const std::string& name,
               term life, std::string token);
void on(coordinator_parts& p, data_prepared what, instant now);
void on(coordinator_parts& p, const prepare_failed& what, instant now);
void on(coordinator_parts& p, shares_placed what, instant now);
void on(coordinator_parts& p, const no_room_found& what, instant now);

/// Everything of an earlier run is forgotten, or why there can be no other.
failure begin_run(coordinator_parts& p, const job& what,
                  const std::string& name, term life, std::string token);
/// waiting -> opening, if enough workers are here.
void form_generation(coordinator_parts& p);
/// `common`: what the orders of one generation have in common, made once for
/// hundreds of workers.
void send_assignments(coordinator_parts& p, const std::vector<worker_id>& to,
                      assignment common);
/// What sums the gradients of these workers.
collective_choice choose_collective(const coordinator_parts& p,
                                    const std::vector<worker_id>& workers);
journal_change journal_entry(const coordinator_parts& p,
                             const ledger::plan& placed,
                             const std::vector<worker_id>& workers,
                             std::optional<ledger::position> from,
                             balance::plan_note note);

// -- takeover.cpp: a run that an earlier life led -----------------------------

failure take_over(coordinator_parts& p, past_run past, term life,
                  std::string token = {});
/// preparing -> as the earlier life left it, behind a fence.
void restore(coordinator_parts& p, past_run past, instant now);
/// A worker of the earlier life, with all that it holds.
bool returns(const coordinator_parts& p, const worker_hello& hello);
welcome welcome_back(coordinator_parts&, const worker_hello&, instant now);

// -- recovery.cpp, unfit.cpp: after a failure ---------------------------------

/// opening, training -> fenced. `lost`: the worker that the reason names; given
/// here, because the recovery may be over when this returns.
void fence_all(coordinator_parts& p, recovery_reason why, instant bad_sign,
               instant now, worker_id lost = {});
/// fenced -> opening, if the members and their base are known.
void decide(coordinator_parts& p, instant now);
/// The first step behind a fence is committed, or all stand still.
void tell_recovered(coordinator_parts& p, instant now);
/// Every member of the generation, and of the next one, answered the fence.
bool all_answered(const fenced& s);
/// Counts an attempt that failed though all are alive. True if workers were
/// dismissed for it: then the fence is decided already.
bool judge_opening(coordinator_parts& p, instant now);
/// Attempts that come to nothing last longer than anybody wants to wonder.
void tell_slow_opening(coordinator_parts& p, instant now);

// -- steps.cpp: what is committed ---------------------------------------------

void commit_all(coordinator_parts& p,
                std::vector<ledger::committed_step> steps);
/// All of a generation are ready: what was asked before holds for it, too.
void steer(coordinator_parts& p);

// -- change.cpp, moving.cpp: beside training ----------------------------------

void on(coordinator_parts& p, balance::balance_answer answer, instant now);

bool may_change(const coordinator_parts& p);
void consider_change(coordinator_parts& p);
void change_placed(coordinator_parts& p, membership_change& change,
                   shares_placed what);
void change_loaded(coordinator_parts& p, membership_change& change,
                   const worker_loaded& message);
/// A member says that the switch happened. training -> training.
void switched(coordinator_parts& p, step_number base);
/// Once; also at a fence behind the switch, and by the next coordinator.
void tell_switch(coordinator_parts& p, membership_change& change,
                 step_number from);
void release_leavers(coordinator_parts& p);

void observe(coordinator_parts& p, instant now);
void tell_stragglers(coordinator_parts& p, instant now);
/// `from`: its first step, or the one before it at a fence.
void transfer_took_effect(coordinator_parts& p, step_number from);
void drop_transfer(coordinator_parts& p, const std::string& why,
                   balance::transfer_end how = balance::transfer_end::dropped);
/// The one event that says that a plan took effect, and from which step on.
void tell_plan(coordinator_parts& p, const ledger::plan& what,
               const balance::plan_note& note, step_number from);

// -- going_back.cpp: checkpoints, and the way back to one ---------------------
void on(coordinator_parts& p, const checkpoint_written& what, instant now);
void on(coordinator_parts& p, const memory_opened& what, instant now);
void on(coordinator_parts& p, const memory_gone&, instant now);
/// The state has so many bytes: has memory room for checkpoints? Asked once.
void consider_memory(coordinator_parts& p, uint64_t state_bytes);
/// Where there was no room there may be some now.
void try_memory_again(coordinator_parts& p, instant now);

void fetch_copy(coordinator_parts& p);
/// Rank 0 copies its state after the step in flight; of a generation that is
/// not ready yet it is asked for that once it is.
void want_copy(coordinator_parts& p);
/// Some worker is here for it, or will come.
bool can_go_back(const coordinator_parts& p);
/// fenced, finishing -> waiting. No worker holds the newest shown state: the
/// newest one on the disk becomes the state, and what was shown after it is
/// undone. `reason` is a copy: where it usually comes from ends here.
void go_back(coordinator_parts& p, std::string reason);
/// Every worker is to leave: another one takes over, or the state goes to the
/// disk.
void part_from_all(coordinator_parts& p, instant now);
/// finishing -> waiting: the state is on the disk, the last workers leave.
void park(coordinator_parts& p);

// -- ending.cpp ---------------------------------------------------------------
void on(coordinator_parts& p, const saved_model& what, instant now);
void on(coordinator_parts& p, const outside_trouble& what, instant now);

void hand_over(coordinator_parts& p);
/// Once a heartbeat, as long as the grace lasts.
void ask_again_for_model(coordinator_parts& p, instant now);
/// A step that no worker may apply.
void refuse_step(coordinator_parts& p, const worker_failed& message,
                 instant now);
/// Ends the run once every member has named its samples and the state before is
/// on the disk.
void conclude_refused(coordinator_parts& p, instant now);
/// A stop, and no worker holds the model: it is that of the newest checkpoint.
void end_without_holders(coordinator_parts& p, const std::string& reason);
/// any -> ended.
void fail(coordinator_parts& p, failure why);
void finish(coordinator_parts& p, run_phase how, int exit_code,
            std::string reason, bool goes_on = false);

} // namespace ballast::coordinator
