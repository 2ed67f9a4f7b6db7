/// Messages of a simulated cluster, and what keeps them: processes that stand
/// still, links that carry nothing.
#include "tests/simulation/cluster_parts.hpp"

#include <algorithm>

namespace ballast::simulation {

using namespace std::chrono_literals;

void cluster::at_node(node_state& who, instant delay,
                      std::function<void(node_state&)> what) {
  after(delay, [this, process = who.process, what = std::move(what)] {
    node_state& me = *nodes_.at(process);
    if (!me.alive)
      return;
    if (now_ < me.frozen_until) // what comes meanwhile waits, in order
      return at_node(me, me.frozen_until - now_, what);
    what(me);
  });
}

void cluster::at_coordinator(instant delay, event what) {
  after(delay, [this, life = life_, what = std::move(what)] {
    if (life != life_ || over_ || !core_)
      return;
    if (now_ < stands_until_)
      return at_coordinator(stands_until_ - now_, what);
    what();
  });
}

void cluster::to_coordinator(node_state& from, event what) {
  if (!from.alive || from.connection == 0)
    return;
  // Never before what was sent before; nothing is lost while a link is cut.
  instant arrives = std::max({now_ + some(50, 3000), from.last_sent + 1us,
                              from.up_cut_until + some(50, 3000)});
  from.last_sent = arrives;
  at_coordinator(arrives - now_,
                 [this, process = from.process, connection = from.connection,
                  what = std::move(what)] {
                   node_state& who = *nodes_.at(process);
                   if (who.connection != connection)
                     return;
                   who.heard_at = now_;
                   what();
                 });
}

void cluster::to_process(node_state& to,
                         std::function<void(node_state&)> what) {
  instant arrives = std::max({now_ + some(50, 3000), to.last_received + 1us,
                              to.down_cut_until + some(50, 3000)});
  to.last_received = arrives;
  at_node(to, arrives - now_, std::move(what));
}

void cluster::to_node(worker_id to, std::function<void(node_state&)> what) {
  for (auto& [process, who] : nodes_)
    if (who->handle == to && who->connection != 0)
      return to_process(*who, [connection = who->connection,
                               what = std::move(what)](node_state& me) {
        // What is left of a connection is read before there is another one.
        if (me.connection == connection || me.connection == 0)
          what(me);
      });
}

/// In one direction, in the other, or in both.
void cluster::cut_link(node_state& who) {
  instant until =
      now_ + some(50'000, random_.one_in(4) ? 9'000'000 : 1'500'000);
  uint64_t how = random_.below(3);
  ++outcome_.cuts;
  log([&] {
    return who.name +
           (how == 0   ? " is not heard"
            : how == 1 ? " hears nothing"
                       : " is cut off") +
           " for " + std::to_string((until - now_) / 1ms) + " ms";
  });
  if (how != 1)
    who.up_cut_until = std::max(who.up_cut_until, until);
  if (how != 0)
    who.down_cut_until = std::max(who.down_cut_until, until);
}

/// Two of its members cannot reach each other now.
bool cluster::apart(const group& in) {
  for (auto [one, process] : in.processes)
    for (auto [other, with] : in.processes)
      if (auto found = apart_.find({process, with});
          found != apart_.end() && now_ < found->second)
        return true;
  return false;
}

/// It tells of those that it cannot reach now.
worker_failed cluster::broken_off(const node_state& who, const group& in) {
  worker_failed out;
  out.code = errc::collective_failed;
  out.message = "peer lost";
  for (auto [rank, process] : in.processes)
    if (auto found = apart_.find({who.process, process});
        found != apart_.end() && now_ < found->second)
      out.links.push_back(
          {int32_t(rank), who.process > process ? "there" : "", "no answer"});
  return out;
}

void cluster::freeze(node_state& who, instant how_long) {
  if (!who.alive || now_ < who.frozen_until)
    return;
  log([&] {
    return who.name + " freezes for " + std::to_string(how_long / 1ms) + " ms";
  });
  ++outcome_.freezes;
  who.frozen_until = now_ + how_long;
}

void cluster::stall_coordinator(instant how_long) {
  if (!core_ || now_ < stands_until_)
    return;
  log([&] {
    return "the coordinator stands still for " +
           std::to_string(how_long / 1ms) + " ms";
  });
  ++outcome_.stalls;
  stands_until_ = now_ + how_long;
}

} // namespace ballast::simulation
