/// The part of coordinator_core that users steer: pause, resume, stop.
#include "runtime/coordinator/coordinator_core.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

namespace {

/// Nothing of the kind can be meant now.
coordinator_core::reply nothing_to(const char* do_what,
                                   const coordinator_core& core) {
  bool stops = core.active() && core.current()->asked.stop;
  return {{errc::bad_request,
           std::string("nothing to ") + do_what + ": the run is " +
               (stops ? "being stopped" : to_string(core.phase())),
           {}},
          {}};
}

} // namespace

/// Holds from now on, whatever the run is at: generations that are not ready
/// yet learn it when they are.
coordinator_core::reply coordinator_core::pause() {
  if (!active() || run_->asked.stop || phase() == run_phase::finishing)
    return nothing_to("pause", *this);
  reply out;
  if (std::exchange(run_->asked.paused, true))
    return out;
  out.then.push_back(journal_requests{run_->asked});
  if (phase() == run_phase::training)
    to_all(out.then, command_kind::pause, "pause");
  return out;
}

/// Withdraws a pause, also one that is not complete yet.
coordinator_core::reply coordinator_core::resume() {
  if (!active() || !run_->asked.paused || run_->asked.stop ||
      phase() == run_phase::finishing)
    return nothing_to("resume", *this);
  reply out;
  run_->asked.paused = false;
  out.then.push_back(journal_requests{run_->asked});
  // Workers that already agreed on a pause stand still all the same; once all
  // of them do, on_paused lets them go on.
  bool complete = phase() == run_phase::paused;
  if (complete) {
    run_->phase = run_phase::training;
    run_->members->paused.clear();
  }
  if (phase() == run_phase::training)
    to_all(out.then, complete ? command_kind::resume : command_kind::unpause,
           "resume");
  out.then.push_back(write_event{events::resumed{run_->last.step}});
  return out;
}

/// All of a generation are ready: what was asked before holds for it, too.
void coordinator_core::steer(actions& out) {
  if (run_->asked.stop || run_->parking)
    to_all(out, command_kind::stop, "stop");
  else if (run_->asked.paused)
    to_all(out, command_kind::pause, "pause");
  if (run_->copy_wanted)
    want_copy(out);
}

const node* coordinator_core::find_node(const std::string& name) const {
  for (const auto& [id, who] : nodes_)
    if (who.connected && who.about.name == name)
      return &who;
  return nullptr;
}

namespace {

coordinator_core::reply no_such(const coordinator_core& core,
                                const std::string& name) {
  std::string here;
  for (const auto& [id, who] : core.nodes())
    if (who.connected)
      here += (here.empty() ? "" : ", ") + who.about.name;
  return {{errc::unknown_worker,
           "no worker named " + name + " is here; " +
               (here.empty() ? "there is none" : "there are: " + here),
           "/worker"},
          {}};
}

} // namespace

coordinator_core::reply coordinator_core::drain(const std::string& name) {
  const node* who = find_node(name);
  if (!who)
    return no_such(*this, name);
  if (!active() || phase() == run_phase::finishing)
    return nothing_to("leave", *this);
  reply out;
  auto in = [who](const std::vector<worker_id>& list) {
    return std::count(list.begin(), list.end(), who->id) > 0;
  };
  bool owes = run_->members &&
              (in(run_->members->workers) || in(run_->members->leavers));
  bool joins = run_->change && in(run_->change->workers);
  bool asked = run_->fenced && (run_->fenced->awaited().contains(who->id) ||
                                run_->fenced->acks().contains(who->id));
  if (!owes && !joins && !asked) {
    let_go(out.then, who->id); // it has no part in the run
    out.then.push_back(write_workers{});
    return out;
  }
  leaving_.insert(who->id);
  std::erase_if(run_->asked.leaving, [this](worker_id one) {
    return !nodes_.contains(one) || !nodes_.at(one).connected;
  });
  if (run_->asked.leaving.insert(who->id).second)
    out.then.push_back(journal_requests{run_->asked});
  consider_change(out.then);
  return out;
}

coordinator_core::reply coordinator_core::evict(const std::string& name,
                                                instant now) {
  const node* who = find_node(name);
  if (!who)
    return no_such(*this, name);
  reply out;
  out.then = exclude(who->id, losses::evicted{}, now);
  return out;
}

coordinator_core::reply coordinator_core::scale(uint64_t workers) {
  if (!active() || !run_->members || phase() == run_phase::finishing)
    return nothing_to("scale", *this);
  const elastic_spec& how = run_->what.elastic;
  if (!config_.supervised)
    return {{errc::bad_request,
             "nobody here can start workers: start or drain nodes by hand",
             {}},
            {}};
  if (workers < how.min_workers || workers > how.max_workers)
    return {{errc::bad_request,
             "/workers: expected " + std::to_string(how.min_workers) + " to " +
                 std::to_string(how.max_workers) + ", found " +
                 std::to_string(workers),
             "/workers"},
            {}};
  reply out;
  workers_wanted_ = uint32_t(workers);
  workers_most_ = uint32_t(workers);
  run_->asked.workers = {how.workers, uint32_t(workers)};
  out.then.push_back(journal_requests{run_->asked});
  out.then.push_back(write_event{events::scaled{workers}});
  consider_change(out.then);
  return out;
}

coordinator_core::reply
coordinator_core::set_balance(std::optional<bool> enabled,
                              std::optional<double> skew_tv) {
  if (!active())
    return {{errc::bad_request, "no run trains here", {}}, {}};
  if (!enabled && !skew_tv)
    return {
        {errc::bad_request, "set_balance: give \"enabled\" or \"skew_tv\"", {}},
        {}};
  if (skew_tv && !(*skew_tv >= 0 && *skew_tv <= 1))
    return {{errc::bad_request, "/skew_tv: expected 0 to 1", "/skew_tv"}, {}};
  balance_spec now = run_->asked.balance_of(run_->what);
  now.enabled = enabled.value_or(now.enabled);
  now.skew_tv = skew_tv.value_or(now.skew_tv);
  run_->asked.balance = {run_->what.balance, now};
  reply out;
  out.then.push_back(journal_requests{run_->asked});
  out.then.push_back(apply_balance{now});
  out.then.push_back(
      write_event{events::balance_set{now.enabled, now.skew_tv}});
  return out;
}

namespace {

/// Of the amount of a fault: the key that says it, and what it may be.
struct fault_range {
  const char* key;
  double least;
  double most;
};

std::optional<fault_range> range_of(command_kind how) {
  switch (how) {
  case command_kind::stall:
    return fault_range{"seconds", 0, 600};
  case command_kind::slow:
    return fault_range{"factor", 1, 1000};
  case command_kind::damage:
    return fault_range{"chunks", 0, 1'000'000};
  default:
    return std::nullopt;
  }
}

} // namespace

coordinator_core::reply coordinator_core::hurt(const std::string& name,
                                               command_kind how,
                                               double amount) {
  if (!active() || !run_->what.faults)
    return {{errc::bad_request,
             "faults on purpose need a running job with \"faults\": true",
             {}},
            {}};
  if (auto range = range_of(how);
      range && !(amount >= range->least && amount <= range->most)) {
    std::string pointer = std::string("/") + range->key;
    return {{errc::bad_request,
             pointer + ": expected " + std::to_string(int64_t(range->least)) +
                 " to " + std::to_string(int64_t(range->most)),
             pointer},
            {}};
  }
  const node* who = find_node(name);
  if (!who)
    return no_such(*this, name);
  reply out;
  command order{config_.term, last_generation_, how, "on purpose"};
  if (how == command_kind::stall)
    order.seconds = amount;
  else if (how == command_kind::slow)
    order.factor = amount;
  else if (how == command_kind::damage)
    order.chunks = uint64_t(amount);
  out.then.push_back(send_command{who->id, std::move(order)});
  out.then.push_back(write_event{events::fault_injected{name, how, amount}});
  return out;
}

coordinator_core::reply coordinator_core::stop(bool by_signal) {
  reply out;
  if (!active())
    return nothing_to("stop", *this);
  bool signalled = run_->asked.stop && run_->asked.stop->by_signal;
  run_->asked.stop = {signalled || by_signal};
  out.then.push_back(journal_requests{run_->asked});
  switch (phase()) {
  case run_phase::waiting:
    end_without_holders(out.then, "");
    break;
  case run_phase::training:
  case run_phase::paused:
    to_all(out.then, command_kind::stop, "stop");
    break;
  case run_phase::preparing:
    // Data are read for as long as they are large. Only living workers of an
    // earlier life hold something that would be lost: they are heard first.
    if (!run_->past || (run_->past->alive && run_->past->alive->empty())) {
      // The journal lags behind what was shown, where that life was killed.
      if (run_->past && !run_->past->steps.empty() &&
          run_->past->steps.back().step > run_->past->committed)
        out.then.push_back(journal_commit{run_->past->steps.back().step,
                                          run_->past->steps.back().epoch});
      finish(out.then, run_phase::stopped, run_->asked.stop_code(),
             run_->past ? "stopped while the data were being prepared; its "
                          "steps, checkpoints and model are kept, and "
                          "`ballast run --resume` goes on with it"
                        : "stopped before the first step");
    }
    break;
  case run_phase::finishing:
    run_->parking = false; // then it ends here
    break;
  default: // loading, recovering: taken up when that is done
    break;
  }
  return out;
}

} // namespace ballast
