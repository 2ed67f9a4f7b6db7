/// The part of coordinator_core that users steer: pause, resume, stop.
#include "runtime/coordinator_core.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

coordinator_core::reply coordinator_core::pause() {
  if (phase() == run_phase::paused)
    return {};
  if (phase() != run_phase::training)
    return {{errc::bad_request,
             "nothing to pause: the run is " + to_string(phase()),
             {}},
            {}};
  reply out;
  run_->asked.paused = true;
  out.then.push_back(journal_requests{run_->asked});
  to_all(out.then, command_kind::pause, "pause");
  return out;
}

coordinator_core::reply coordinator_core::resume() {
  if (phase() != run_phase::paused)
    return {{errc::bad_request,
             "nothing to resume: the run is " + to_string(phase()),
             {}},
            {}};
  reply out;
  run_->phase = run_phase::training;
  run_->asked.paused = false;
  run_->members->paused.clear();
  out.then.push_back(journal_requests{run_->asked});
  to_all(out.then, command_kind::resume, "resume");
  out.then.push_back(write_event{
      "resumed", {{"step", value(run_->members->commits.committed())}}});
  return out;
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
           "no worker named " + name + " is here; there are: " + here,
           "/worker"},
          {}};
}

} // namespace

coordinator_core::reply coordinator_core::drain(const std::string& name) {
  const node* who = find_node(name);
  if (!who)
    return no_such(*this, name);
  if (!active() || !run_->members)
    return {{errc::bad_request,
             "nothing to leave: the run is " + to_string(phase()),
             {}},
            {}};
  leaving_.insert(who->id);
  reply out;
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
  out.then = exclude(who->id, "evicted on request", now);
  return out;
}

coordinator_core::reply coordinator_core::scale(uint64_t workers) {
  if (!active() || !run_->members)
    return {{errc::bad_request,
             "nothing to scale: the run is " + to_string(phase()),
             {}},
            {}};
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
  out.then.push_back(write_event{"scale", {{"workers", workers}}});
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
  out.then.push_back(write_event{
      "set_balance", {{"enabled", now.enabled}, {"skew_tv", now.skew_tv}}});
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
  out.then.push_back(write_event{
      "fault",
      {{"worker", name}, {"what", to_string(how)}, {"amount", amount}}});
  return out;
}

coordinator_core::reply coordinator_core::stop(bool by_signal) {
  reply out;
  if (!active()) {
    out.refused = {errc::bad_request,
                   "nothing to stop: the run is " + to_string(phase()),
                   {}};
    return out;
  }
  bool signalled = run_->asked.stop && run_->asked.stop->by_signal;
  run_->asked.stop = {signalled || by_signal};
  out.then.push_back(journal_requests{run_->asked});
  switch (phase()) {
  case run_phase::waiting:
    finish(out.then, run_phase::stopped, run_->asked.stop_code(),
           "stopped before the first step");
    break;
  case run_phase::training:
  case run_phase::paused:
    run_->copy_wanted = true; // of the last step
    to_all(out.then, command_kind::stop, "stop");
    break;
  default: // preparing, loading, finishing: taken up when that is done
    break;
  }
  return out;
}

} // namespace ballast
