#include "tests/simulation/cluster_parts.hpp"

#include "runtime/repair.hpp"
#include "tests/runtime/plain_set.hpp"

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace ballast::simulation {

using namespace std::chrono_literals;

namespace {

job make_job(const cluster_options& options) {
  job out;
  out.name = "simulated";
  out.seed = options.seed;
  out.model.kind = "emulated";
  out.train.global_batch = options.global_batch;
  out.train.epochs = options.epochs;
  out.elastic.workers = options.workers;
  out.elastic.heartbeat_ms = 200;
  out.elastic.orphan_s = 5;
  return out;
}

} // namespace

cluster::cluster(cluster_options options)
    : options_(options), random_(options.seed),
      set_(ballast::testing::plain_set(
          ballast::testing::chunks_of(options.rows, options.chunk_rows))),
      what_(make_job(options)) {
  if (options.balanced) {
    set_.row.classes = 2;
    for (chunk_info& chunk : set_.train)
      chunk.label_histogram = {chunk.rows, 0};
    set_.train[0].label_histogram = {set_.train[0].rows - 2, 2};
  }
  coordinator_config config;
  config.build_id = "b";
  core_ = std::make_unique<coordinator_core>(config);
  what_.checkpoint.every_steps = options.checkpoint_every;
}
cluster::~cluster() = default;

// -- time

void cluster::after(instant delay, event what) {
  queue_.emplace(std::pair(now_ + delay, sequence_++), std::move(what));
}

instant cluster::some(int64_t least_us, int64_t most_us) {
  return std::chrono::microseconds(
      least_us + int64_t(random_.below(uint64_t(most_us - least_us + 1))));
}

void cluster::log(const std::string& line) {
  std::ostringstream out;
  out << std::chrono::duration<double, std::milli>(now_).count()
      << " ms: " << line;
  if (options_.tell) {
    fprintf(stderr, "%s\n", out.str().c_str());
    return;
  }
  history_.push_back(out.str());
  if (history_.size() > 200)
    history_.pop_front();
}

std::string cluster::history() const {
  std::string out;
  for (const std::string& line : history_)
    out += line + "\n";
  return out;
}

void cluster::fail(const std::string& why) {
  throw violation("seed " + std::to_string(options_.seed) + ": " + why + "\n" +
                  history());
}

// -- processes and the network

void cluster::start_node() {
  auto fresh = std::make_unique<node_state>();
  fresh->process = ++processes_;
  fresh->name = "w" + std::to_string(fresh->process);
  node_state& who = *fresh;
  nodes_[who.process] = std::move(fresh);
  at_node(who, some(1000, 50'000), [this](node_state& me) { hello(me); });
}

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

void cluster::to_coordinator(node_state& from, event what) {
  if (!from.alive || !from.connected)
    return;
  // Never before what was sent before.
  instant arrives = std::max(now_ + some(50, 3000), from.last_sent + 1us);
  from.last_sent = arrives;
  after(arrives - now_,
        [this, process = from.process, life = life_, what = std::move(what)] {
          if (nodes_.at(process)->connected && !over_ && core_ && life == life_)
            what();
        });
}

void cluster::to_node(worker_id to, std::function<void(node_state&)> what) {
  for (auto& [process, who] : nodes_)
    if (who->id == to && who->connected) {
      instant arrives =
          std::max(now_ + some(50, 3000), who->last_received + 1us);
      who->last_received = arrives;
      at_node(*who, arrives - now_, std::move(what));
      return;
    }
}

void cluster::kill(node_state& who, const std::string& how) {
  if (!who.alive)
    return;
  log(who.name + " dies: " + how);
  who.alive = false;
  ++outcome_.kills;
  for (const auto& in : {who.in, who.next_in})
    if (in)
      after(some(100, 2000), [this, in] { break_group(in); });
  if (who.in && who.in->processes.contains(who.rank) && random_.one_in(2))
    tell_peers(who);
  // What it had sent arrives first.
  instant closed = std::max(now_ + some(500, 12'000), who.last_sent + 1us);
  after(closed - now_, [this, process = who.process] {
    node_state& gone = *nodes_.at(process);
    if (!gone.connected || over_ || !core_)
      return;
    gone.connected = false;
    log("coordinator sees " + gone.name + " gone");
    perform(core_->on_node_down(gone.id, "its connection closed", now_));
  });
  after(some(1000, 80'000), [this] { start_node(); });
}

void cluster::freeze(node_state& who, instant how_long) {
  if (!who.alive || now_ < who.frozen_until)
    return;
  log(who.name + " freezes");
  ++outcome_.freezes;
  who.frozen_until = now_ + how_long;
}

void cluster::schedule_fault() {
  auto mean = uint64_t(options_.mean_between_faults.count());
  after(instant(int64_t(random_.below(2 * mean))), [this] {
    if (over_ || now_ > options_.faults_until)
      return;
    std::vector<node_state*> living;
    for (auto& [process, who] : nodes_)
      if (who->alive)
        living.push_back(who.get());
    if (!living.empty()) {
      node_state& victim = *living[random_.below(living.size())];
      if (random_.one_in(8)) {
        if (core_ && random_.one_in(2))
          crash_soon_ = true;
        else
          crash_coordinator();
      } else if (random_.one_in(3)) {
        freeze(victim, some(10'000, 3'000'000));
      } else if (random_.one_in(4) && victim.connected && core_) {
        ++outcome_.drains;
        victim.leaving = true;
        log(victim.name + " is asked to leave");
        perform(core_->drain(victim.name).then);
        after(some(1000, 80'000), [this] { start_node(); });
      } else {
        kill(victim, "killed");
      }
    }
    schedule_fault();
  });
}

// -- coordinator

void cluster::crash_coordinator() {
  crash_soon_ = false;
  if (!core_ || over_)
    return;
  log("the coordinator dies");
  ++outcome_.crashes;
  ++life_;
  core_.reset();
  mind_.reset();
  for (auto& [process, who] : nodes_)
    if (who->connected) {
      who->connected = false;
      at_node(*who, some(500, 60'000),
              [this](node_state& me) { come_back(me); });
    }
  after(some(1000, 900'000), [this] { restart_coordinator(); });
}

void cluster::restart_coordinator() {
  coordinator_config config;
  config.build_id = "b";
  ill_.clear();
  for (auto& [process, who] : nodes_)
    who->heard_ill = false;
  core_ = std::make_unique<coordinator_core>(config);
  log("the coordinator is back");
  if (plans_.empty())
    perform(core_->on_submit(what_, "sim-1", term{life_}).then);
  else
    perform(core_->on_resume(remembered(), term{life_}).then);
  tick();
}

void cluster::tick() {
  if (over_ || !core_)
    return;
  perform(core_->on_tick(now_));
  check_stragglers();
  after(50ms, [this, life = life_] {
    if (life == life_)
      tick();
  });
}

void cluster::perform(const actions& list) {
  for (const action& one : list) {
    if (over_ || !core_)
      return;
    if (crash_soon_ && now_ < options_.faults_until && random_.one_in(3))
      return crash_coordinator();
    if (std::get_if<prepare_data>(&one)) {
      after(some(1000, 30'000), [this, life = life_] {
        if (life != life_)
          return;
        set_summary summary;
        summary.origin = "o";
        summary.train_rows = options_.rows;
        for (const chunk_info& chunk : set_.train)
          summary.chunk_rows.push_back(chunk.rows);
        if (options_.balanced)
          mind_ = std::make_unique<balancer>(
              balance_policy{.global_batch = options_.global_batch},
              std::make_shared<manifest>(set_));
        perform(core_->on_prepared(summary, now_));
      });
    } else if (const auto* place = std::get_if<place_shares>(&one)) {
      after(some(10, 2000), [this, what = *place, life = life_] {
        if (life != life_)
          return;
        plan placed =
            what.before.shares.empty()
                ? first_plan(set_, what.workers, what.generation, what.number)
                : repaired_plan(set_, 0.1, what.before, what.workers,
                                what.generation, what.number);
        std::vector<share_summary> counts;
        for (const share& part : placed.shares)
          counts.push_back({part.worker, ballast::rows(part), 0});
        perform(core_->on_placed(placed, counts, now_));
      });
    } else if (const auto* change = std::get_if<journal_change>(&one)) {
      keep(*change);
    } else if (const auto* offered = std::get_if<journal_offer>(&one)) {
      keep(*offered);
    } else if (const auto* line = std::get_if<write_event>(&one)) {
      keep(*line);
      if (line->kind == "straggler")
        check_straggler(line->fields);
    } else if (const auto* asked = std::get_if<journal_requests>(&one)) {
      asked_ = asked->what;
    } else if (const auto* look = std::get_if<observe_load>(&one)) {
      after(some(10, 2000), [this, view = look->what, life = life_] {
        if (life == life_)
          perform(core_->on_balance(answer(view), now_));
      });
    } else if (const auto* fetch = std::get_if<send_fetch>(&one)) {
      to_node(fetch->to, [this, order = fetch->what](node_state& me) {
        on_fetch(me, order);
      });
    } else if (const auto* begins = std::get_if<journal_effective>(&one)) {
      keep(*begins);
    } else if (const auto* given = std::get_if<send_assignment>(&one)) {
      to_node(given->to, [this, order = given->what](node_state& me) {
        on_assignment(me, order);
      });
    } else if (const auto* join = std::get_if<send_connect>(&one)) {
      to_node(join->to, [this, order = join->what](node_state& me) {
        on_connect(me, order);
      });
    } else if (const auto* fence = std::get_if<send_fence>(&one)) {
      log("fence " + to_string(fence->what.level) + " to " +
          core_->name_of(fence->to) + ": " + fence->what.reason);
      to_node(fence->to, [this, order = fence->what](node_state& me) {
        on_fence(me, order);
      });
    } else if (const auto* offer = std::get_if<send_plan>(&one)) {
      to_node(offer->to, [this, order = offer->what](node_state& me) {
        if (me.core && me.order && order.what.generation > me.fenced)
          (void)me.core->install(order.what);
      });
    } else if (const auto* told = std::get_if<send_command>(&one)) {
      to_node(told->to, [this, order = told->what](node_state& me) {
        on_command(me, order);
      });
    } else if (const auto* out = std::get_if<expel>(&one)) {
      ++outcome_.excluded;
      log(core_->name_of(out->who) + " is excluded");
      // Told, and then not heard any more; it joins again as a new process.
      to_node(out->who, [this](node_state& me) {
        kill(me, "learns that it is excluded");
      });
      for (auto& [process, who] : nodes_)
        if (who->id == out->who)
          who->connected = false;
    } else if (const auto* steps = std::get_if<write_steps>(&one)) {
      check_shown(steps->steps);
    } else if (std::get_if<fetch_model>(&one)) {
      after(some(1000, 5000), [this, life = life_] {
        if (life == life_)
          perform(core_->on_model_saved({}));
      });
    } else if (const auto* copy = std::get_if<fetch_checkpoint>(&one)) {
      after(some(1000, 60'000), [this, what = *copy, life = life_] {
        if (life != life_)
          return;
        std::string file = "step-" + to_string(what.after.step);
        node_state* from = nullptr;
        for (auto& [process, who] : nodes_)
          if (who->id == what.from && who->alive)
            from = who.get();
        if (!from || now_ < from->frozen_until || !from->copy ||
            from->copy->size() != value(what.after.step))
          return perform(core_->on_checkpoint(
              what.after, "", {errc::unreachable, "nobody answers", {}}, now_));
        checkpoints_[file] = *from->copy;
        log("checkpoint of step " + to_string(what.after.step));
        perform(core_->on_checkpoint(what.after, file, {}, now_));
      });
    } else if (const auto* trouble = std::get_if<give_up>(&one)) {
      perform(core_->on_trouble(trouble->why));
    } else if (const auto* serve = std::get_if<serve_checkpoint>(&one)) {
      served_ = serve->file;
    } else if (const auto* undo = std::get_if<undo_steps>(&one)) {
      keep(*undo);
    } else if (const auto* end = std::get_if<end_run>(&one)) {
      outcome_.state = end->state;
      outcome_.reason = end->reason;
      log("the run ends: " + end->state + " " + end->reason);
      over_ = true;
    }
  }
}

outcome cluster::run() {
  for (uint32_t i = 0; i < options_.workers; ++i)
    start_node();
  perform(core_->on_submit(what_, "sim-1", term{1}).then);
  tick();
  schedule_fault();
  instant limit = options_.faults_until + 120s;
  while (!over_ && !queue_.empty() && now_ < limit) {
    auto first = queue_.begin();
    now_ = first->first.first;
    event what = std::move(first->second);
    queue_.erase(first);
    ++outcome_.events;
    what();
  }
  if (!over_)
    fail("the run does not end; it is " + to_string(core_->phase()));
  check_end();
  check_coverage();
  return outcome_;
}

} // namespace ballast::simulation
