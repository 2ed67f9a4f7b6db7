/// The half of coordinator_core that deals with nodes: who joins, who is lost.
#include "runtime/coordinator_core.hpp"

#include <iterator>
#include <utility>

namespace ballast {

namespace {

/// A supervisor's report of how a process ended arrives within this time.
constexpr std::chrono::milliseconds exit_report_wait{1000};
/// The workers of `run` join within this time, also on a busy machine.
constexpr std::chrono::seconds join_wait{60};

} // namespace

std::string describe_node(const node& who) {
  return "worker " + who.about.name + " (pid " + std::to_string(who.about.pid) +
         " on " + who.about.host + ")";
}

coordinator_core::hello_result
coordinator_core::on_hello(const worker_hello& hello, instant now) {
  if (hello.build_id != config_.build_id)
    return {{},
            {errc::other_build,
             "node " + hello.name + " is build " + hello.build_id +
                 ", this coordinator is build " + config_.build_id +
                 ": only equal builds may join one cluster",
             {}},
            {}};
  for (const auto& [id, other] : nodes_)
    if (other.connected && other.about.name == hello.name)
      return {{},
              {errc::name_taken,
               "a node named " + hello.name + " is already here (pid " +
                   std::to_string(other.about.pid) + " on " + other.about.host +
                   "): start this one with another --name",
               {}},
              {}};
  last_worker_ = next(last_worker_);
  node fresh;
  fresh.id = last_worker_;
  fresh.incarnation = ++incarnations_[hello.name];
  fresh.about = hello;
  nodes_[fresh.id] = fresh;
  detector_.heard(fresh.id, now);
  hello_result out;
  out.accepted = welcome{fresh.id, fresh.incarnation, config_.term,
                         uint32_t(config_.heartbeat.count())};
  if (active()) {
    out.then.push_back(write_event{"worker_joined",
                                   {{"worker", hello.name},
                                    {"incarnation", fresh.incarnation},
                                    {"pid", hello.pid},
                                    {"host", hello.host},
                                    {"device", hello.device}}});
    out.then.push_back(write_workers{});
  }
  form_generation(out.then);
  return out;
}

void coordinator_core::on_heartbeat(const heartbeat& beat, instant now) {
  auto found = nodes_.find(beat.worker);
  if (found == nodes_.end() || !found->second.connected)
    return;
  found->second.last = beat;
  detector_.heard(beat.worker, now);
}

actions coordinator_core::on_node_down(worker_id who, const std::string& reason,
                                       bool certain, instant now) {
  auto found = nodes_.find(who);
  if (found == nodes_.end() || !found->second.connected)
    return {};
  if (!certain && config_.supervised) {
    suspected_.insert_or_assign(who, suspicion{reason, now, true});
    return {};
  }
  return lose(who, reason, errc::worker_lost);
}

actions coordinator_core::on_process_ended(const std::string& name,
                                           const std::string& how,
                                           instant now) {
  for (const auto& [id, who] : nodes_)
    if (who.connected && who.about.name == name)
      return on_node_down(id, how, true, now);
  if (!active() || phase() == run_phase::finishing)
    return {};
  for (const auto& [id, who] : nodes_)
    if (who.about.name == name)
      return {};
  return fail({errc::worker_lost,
               "worker " + name + " ended before it joined: " + how,
               {}});
}

actions coordinator_core::lose(worker_id who, const std::string& reason,
                               errc code) {
  node& gone = nodes_.at(who);
  gone.connected = false;
  detector_.forget(who);
  suspected_.erase(who);
  actions out;
  // Before there is a generation a cluster waits for others; in `run` there
  // are no others.
  bool needed =
      active() && (run_->members ? member(who, run_->members->number) &&
                                       !run_->members->finished.contains(who)
                                 : config_.supervised);
  if (!active())
    return out;
  out.push_back(write_event{"worker_lost",
                            {{"worker", gone.about.name},
                             {"incarnation", gone.incarnation},
                             {"pid", gone.about.pid},
                             {"host", gone.about.host},
                             {"reason", reason}}});
  out.push_back(write_workers{});
  if (needed || (run_->members && phase() == run_phase::finishing &&
                 run_->members->workers[0] == who)) {
    actions more = fail({code, describe_node(gone) + " lost: " + reason, {}});
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

actions coordinator_core::on_tick(instant now) {
  actions out;
  auto append = [&out](actions more) {
    out.insert(out.end(), std::make_move_iterator(more.begin()),
               std::make_move_iterator(more.end()));
  };
  for (auto [who, why] : std::map(suspected_))
    if (now - why.since > exit_report_wait) {
      suspected_.erase(who);
      append(why.gone ? lose(who, why.reason, errc::worker_lost)
                      : fail({errc::collective_failed,
                              describe_node(nodes_.at(who)) + ": " + why.reason,
                              {}}));
    }
  for (worker_id who : detector_.lost(now)) {
    auto silent_ms = std::chrono::duration_cast<std::chrono::milliseconds>(
                         detector_.age(who, now))
                         .count();
    append(lose(who, "no heartbeat for " + std::to_string(silent_ms) + " ms",
                errc::worker_lost));
  }
  // In a cluster somebody may still come; `run` has started all there are.
  if (!config_.supervised || phase() != run_phase::waiting) {
    waiting_since_.reset();
  } else if (!waiting_since_) {
    waiting_since_ = now;
  } else if (now - *waiting_since_ > join_wait) {
    size_t here = 0;
    for (const auto& [id, who] : nodes_)
      here += who.connected ? 1 : 0;
    append(fail({errc::worker_lost,
                 "only " + std::to_string(here) + " of " +
                     std::to_string(run_->what.elastic.workers) +
                     " workers joined within 60 s; see their files in logs/",
                 {}}));
  }
  return out;
}

} // namespace ballast
