/// What `ballast run` does around its coordinator and its workers: it starts
/// them, tells how they ended, and ends those that were excluded and do not
/// come back. It never stands still itself.
#include "tests/simulation/cluster_parts.hpp"

#include <csignal>

namespace ballast::simulation {

using namespace std::chrono_literals;

/// Longer than a coordinator is ever away.
constexpr uint32_t idle_wait_s = 3600;

/// It reaps a child. Whom it tells may be dead: then the next coordinator is
/// told who lives.
void cluster::process_ended(const std::string& name, const process_end& how) {
  user_->starting.erase(name);
  after(some(50, 5000), [this, name, how] {
    at_coordinator(some(50, 1000), [this, name, how] {
      tell_core(coordinator::process_ended{name, how});
    });
  });
}

void cluster::expelled(const std::string& name) {
  uint32_t process = 0;
  for (auto& [number, who] : nodes_)
    if (who->alive && who->name == name)
      process = number;
  if (process == 0)
    return;
  auto grace = std::chrono::seconds(what_.elastic.grace_s);
  after(grace, [this, process, id = nodes_.at(process)->id] {
    node_state& who = *nodes_.at(process);
    // Who came back is another worker, and trains.
    if (!over_ && who.alive && who.id == id && who.handle == worker_id{})
      kill(who, "did not come back");
  });
}

void cluster::start_node(std::string name) {
  auto fresh = std::make_unique<node_state>(worker::link_config{
      .once = options_.supervised, .idle_wait_s = idle_wait_s});
  fresh->process = ++processes_;
  fresh->name =
      name.empty() ? "w" + std::to_string(fresh->process) : std::move(name);
  // The founders are well: what keeps all of them from loading ends a run.
  fresh->sick =
      options_.sick_joiners && disk_->steps.size() > 0 && random_.one_in(4);
  node_state& who = *fresh;
  nodes_[who.process] = std::move(fresh);
  if (options_.early_deaths && !quiet() && random_.one_in(8))
    return at_node(who, some(1000, 100'000),
                   [this](node_state& me) { kill(me, "before its hello"); });
  at_node(who, some(1000, 50'000),
          [this](node_state& me) { connect_to_coordinator(me); });
}

void cluster::kill(node_state& who, const std::string& how) {
  if (!who.alive)
    return;
  log([&] { return who.name + " dies: " + how; });
  who.alive = false;
  ++outcome_.kills;
  for (const auto& in : {who.in, who.next_in})
    if (in)
      after(some(100, 2000), [this, in] { break_group(in); });
  if (who.in && who.in->processes.contains(who.rank) && random_.one_in(2))
    tell_peers(who);
  // What it had sent arrives first.
  instant closed = std::max(
      {now_ + some(500, 12'000), who.last_sent + 1us, who.up_cut_until});
  at_coordinator(closed - now_, [this, process = who.process] {
    node_state& gone = *nodes_.at(process);
    gone.connection = 0;
    worker_id was = std::exchange(gone.handle, worker_id{});
    if (was == worker_id{})
      return;
    log([&] { return "coordinator sees " + gone.name + " gone"; });
    tell_core(coordinator::connection_lost{was, losses::connection_closed{}});
  });
  if (options_.supervised)
    process_ended(who.name, {process_end::kind::killed, SIGKILL});
  else
    after(some(1000, 80'000), [this] {
      if (!over_)
        start_node();
    });
}

void cluster::new_core() {
  coordinator::coordinator_config config;
  config.build_id = "b";
  config.supervised = options_.supervised;
  config.tick = std::chrono::milliseconds(50);
  box_ = {};
  core_ = std::make_unique<coordinator::coordinator_parts>(config, box_);
}

void cluster::begin_run() {
  disk_ = std::make_unique<disk_state>();
  user_ = std::make_unique<user_state>();
  groups_.clear();
  last_progress_ = now_;
  std::string name = "sim-" + std::to_string(run_number_);
  if (options_.supervised)
    for (uint32_t i = 1; i <= options_.workers; ++i)
      start_node("w" + std::to_string(i));
  (void)submit(*core_, what_, name, term{++terms_}, {});
  perform(box_.take());
}

void cluster::crash_coordinator() {
  crash_soon_ = false;
  if (!core_ || over_)
    return;
  log("the coordinator dies");
  ++outcome_.crashes;
  ++life_;
  core_.reset();
  planner_.reset();
  stands_until_ = {};
  for (auto& [process, who] : nodes_)
    if (std::exchange(who->connection, 0) != 0) {
      who->handle = {};
      at_node(*who, some(500, 60'000), [this](node_state& me) {
        carry_out(me, me.link.on_coordinator_lost(now_));
        if (me.alive && std::exchange(me.hello_sent, false))
          carry_out(me, me.link.on_refused({errc::unreachable, "no answer", {}},
                                           now_));
      });
    }
  bool long_away = options_.long_outages && random_.one_in(3);
  after(long_away ? some(1'000'000, 20'000'000) : some(1000, 900'000),
        [this, life = life_] {
          if (life == life_ && !core_ && !over_)
            restart_coordinator();
        });
}

void cluster::restart_coordinator() {
  ill_.clear();
  for (auto& [process, who] : nodes_)
    who->heard_ill = false;
  new_core();
  log("the coordinator is back");
  last_progress_ = now_;
  std::string name = "sim-" + std::to_string(run_number_);
  tick();
  if (disk_->plans.empty() && !options_.supervised)
    (void)submit(*core_, what_, name, term{++terms_}, {});
  else
    (void)take_over(*core_, remembered(), term{++terms_});
  perform(box_.take());
}

} // namespace ballast::simulation
