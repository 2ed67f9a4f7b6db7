#include "tests/simulation/cluster.hpp"

#include "runtime/repair.hpp"

#include <algorithm>
#include <sstream>

namespace ballast::simulation {

using namespace std::chrono_literals;

/// One process. A worker that comes back after its death is another one.
struct cluster::node_state {
  uint32_t process = 0;
  std::string name;
  bool alive = true;
  bool connected = false; // as the coordinator's side sees it
  instant frozen_until{};
  worker_id id{};
  // What a worker knows.
  generation fenced{};
  bool holds = false;
  lineage applied;
  std::vector<step_record> unreported;
  std::optional<assignment> order;
  std::optional<worker_core> core;
  std::shared_ptr<group> in;
  size_t rank = 0;
  std::optional<step_order> drawn;
  // The next generation, beside the present one.
  std::optional<assignment> next_order;
  std::shared_ptr<group> next_in;
  uint64_t next_life = 0;
  bool leaving = false; // asked to
  bool left = false;
  uint64_t life = 0; // of its place in a generation; old events are dropped
  instant last_posted{}; // to its own actor
  instant last_sent{};
  instant last_received{};
};

struct cluster::group {
  generation number{};
  size_t world = 0;
  std::set<size_t> connected;
  std::map<size_t, uint32_t> processes; // rank -> process
  bool broken = false;
  struct operation {
    std::map<size_t, trailer> given;
    std::shared_ptr<attempt> what = std::make_shared<attempt>();
    std::set<size_t> left; // ranks that have its result or gave it up
  };
  std::map<uint64_t, operation> steps;
  std::map<size_t, std::vector<size_t>> waits_for_state;
  connect_order order;
};

namespace {

manifest make_set(const cluster_options& options) {
  manifest out;
  out.train_rows = options.rows;
  out.row.classes = 0;
  for (uint32_t length :
       ballast::testing::chunks_of(options.rows, options.chunk_rows)) {
    chunk_info chunk;
    chunk.id = chunk_id(uint32_t(out.train.size()));
    chunk.rows = length;
    out.train.push_back(chunk);
  }
  return out;
}

job make_job(const cluster_options& options) {
  job out;
  out.name = "simulated";
  out.seed = options.seed;
  out.model.kind = "emulated";
  out.train.global_batch = options.global_batch;
  out.train.epochs = options.epochs;
  out.elastic.workers = options.workers;
  out.elastic.heartbeat_ms = 200;
  return out;
}

} // namespace

cluster::cluster(cluster_options options)
    : options_(options), random_(options.seed), set_(make_set(options)),
      what_(make_job(options)) {
  coordinator_config config;
  config.build_id = "b";
  core_ = std::make_unique<coordinator_core>(config);
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
  out << std::chrono::duration<double, std::milli>(now_).count() << " ms: "
      << line;
  history_.push_back(out.str());
  if (!options_.keep_log && history_.size() > 200)
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
  if (!from.alive)
    return;
  // Never before what was sent before.
  instant arrives = std::max(now_ + some(50, 3000), from.last_sent + 1us);
  from.last_sent = arrives;
  after(arrives - now_, [this, process = from.process, what = std::move(what)] {
    if (nodes_.at(process)->connected && !over_)
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
  // What it had sent arrives first.
  instant closed = std::max(now_ + some(500, 12'000), who.last_sent + 1us);
  after(closed - now_, [this, process = who.process] {
    node_state& gone = *nodes_.at(process);
    if (!gone.connected || over_)
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
    // One must stay well that holds the model: without checkpoints losing the
    // last one is the end.
    auto holder = [this](const node_state& who) {
      return who.holds && !who.leaving && now_ >= who.frozen_until &&
             who.applied.size() >= steps_.size();
    };
    auto holders = std::count_if(living.begin(), living.end(),
                                 [&](auto* who) { return holder(*who); });
    if (living.size() > 1) {
      node_state& victim = *living[random_.below(living.size())];
      if (holders > (holder(victim) ? 1 : 0)) {
        if (random_.one_in(3)) {
          freeze(victim, some(10'000, 3'000'000));
        } else if (random_.one_in(4) && victim.connected) {
          ++outcome_.drains;
          victim.leaving = true;
          log(victim.name + " is asked to leave");
          perform(core_->drain(victim.name).then);
          after(some(1000, 80'000), [this] { start_node(); });
        } else {
          kill(victim, "killed");
        }
      }
    }
    schedule_fault();
  });
}

// -- coordinator

void cluster::tick() {
  if (over_)
    return;
  perform(core_->on_tick(now_));
  after(50ms, [this] { tick(); });
}

void cluster::perform(const actions& list) {
  for (const action& one : list) {
    if (std::get_if<prepare_data>(&one)) {
      after(some(1000, 30'000), [this] {
        set_summary summary;
        summary.origin = "o";
        summary.train_rows = options_.rows;
        for (const chunk_info& chunk : set_.train)
          summary.chunk_rows.push_back(chunk.rows);
        perform(core_->on_prepared(summary));
      });
    } else if (const auto* place = std::get_if<place_shares>(&one)) {
      after(some(10, 2000), [this, what = *place] {
        plan placed = what.before.shares.empty()
                          ? first_plan(set_, what.workers, what.generation,
                                       what.number)
                          : repaired_plan(what.before, what.workers,
                                          what.generation, what.number);
        std::vector<share_summary> counts;
        for (const share& part : placed.shares)
          counts.push_back({part.worker, ballast::rows(part), 0});
        perform(core_->on_placed(placed, counts, now_));
      });
    } else if (const auto* change = std::get_if<journal_change>(&one)) {
      if (!change->effective)
        ++outcome_.joins;
      if (change->generation <= journaled_)
        fail("generation " + to_string(change->generation) + " after " +
             to_string(journaled_));
      journaled_ = change->generation;
      plans_[change->what.number] = {change->what, change->effective};
      outcome_.generations = value(journaled_);
      log("generation " + to_string(change->generation) + " of " +
          std::to_string(change->workers.size()) +
          (change->effective ? " from step " + to_string(change->effective->step)
                             : " offered"));
    } else if (const auto* begins = std::get_if<journal_effective>(&one)) {
      auto& [body, since] = plans_.at(begins->number);
      if (since && *since != begins->from)
        fail("plan " + to_string(begins->number) + " gets a second position");
      since = begins->from;
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
    } else if (const auto* fetch = std::get_if<fetch_model>(&one)) {
      (void)fetch;
      after(some(1000, 5000), [this] { perform(core_->on_model_saved({})); });
    } else if (const auto* end = std::get_if<end_run>(&one)) {
      outcome_.state = end->state;
      outcome_.reason = end->reason;
      log("the run ends: " + end->state + " " + end->reason);
      over_ = true;
    }
  }
}

// -- worker

void cluster::hello(node_state& who) {
  if (over_)
    return;
  who.connected = true;
  auto answer =
      core_->on_hello({who.name, who.process, "host", "cpu", "b", ""}, now_);
  if (!answer.accepted)
    fail(who.name + " is refused: " + answer.refused.message);
  who.id = answer.accepted->worker;
  log(who.name + " joins");
  perform(answer.then);
  beat(who);
}

void cluster::beat(node_state& who) {
  at_node(who, 200ms, [this](node_state& me) {
    to_coordinator(me, [this, id = me.id] {
      core_->on_heartbeat({id, {}, {}, {}, 0}, now_);
    });
    beat(me);
  });
}

ledger_config cluster::rows() const {
  ledger_config out{what_.seed, what_.train.global_batch, {}};
  for (const chunk_info& chunk : set_.train)
    out.chunk_rows.push_back(chunk.rows);
  return out;
}

void cluster::on_assignment(node_state& who, const assignment& order) {
  if (order.generation <= who.fenced)
    return;
  if (order.beside)
    return prepare_next(who, order);
  ++who.life;
  ++who.next_life;
  who.next_order.reset();
  who.next_in.reset();
  who.left = false;
  who.order = order;
  who.in.reset();
  who.drawn.reset();
  if (order.from_seed) {
    who.applied.clear();
    who.unreported.clear();
    who.holds = true;
  }
  at_node(who, some(100, 40'000), [this, life = who.life](node_state& me) {
    if (me.life != life)
      return;
    if (auto wrong = start_error(rows(), me.order->first, me.order->start,
                                 me.order->cursors))
      fail(me.name + " got an order that does not fit: " + *wrong);
    me.core.emplace(worker_core_config{rows(), me.id, what_.train.epochs},
                    me.order->first, me.order->start, me.order->cursors);
    worker_loaded message{me.id, me.order->generation, "c" + me.name,
                          "d" + me.name};
    to_coordinator(
        me, [this, message] { perform(core_->on_loaded(message, now_)); });
  });
}

void cluster::prepare_next(node_state& who, const assignment& order) {
  ++who.next_life;
  who.next_order = order;
  who.next_in.reset();
  // A newcomer loads everything.
  instant takes = who.core ? some(100, 20'000) : some(20'000, 400'000);
  at_node(who, takes, [this, life = who.next_life](node_state& me) {
    if (me.next_life != life)
      return;
    worker_loaded message{me.id, me.next_order->generation, "c" + me.name,
                          "d" + me.name};
    to_coordinator(
        me, [this, message] { perform(core_->on_loaded(message, now_)); });
  });
}

/// The next collective is open on this rank: a member may contribute to the
/// lane, a newcomer waits for the state.
void cluster::connected_beside(node_state& who) {
  const connect_order& order = who.next_in->order;
  size_t rank = 0;
  while (who.next_order->first.shares[rank].worker != who.id)
    ++rank;
  if (std::count(order.stale.begin(), order.stale.end(), uint32_t(rank)) > 0) {
    ++who.life;
    who.core.reset();
    who.in = std::exchange(who.next_in, nullptr);
    who.order = std::exchange(who.next_order, std::nullopt);
    who.rank = rank;
    who.holds = false;
    return;
  }
  if (failure refused = who.core->install(who.next_order->first))
    fail(who.name + " refuses the plan of the switch: " + refused.message);
}

/// The plan of the next generation is in force.
void cluster::switch_over(node_state& who) {
  ++who.life;
  who.order = std::exchange(who.next_order, std::nullopt);
  who.in = std::exchange(who.next_in, nullptr);
  if (!who.in)
    fail(who.name + " switches without a collective for it");
  who.rank = who.core->rank();
  if (who.in->broken) {
    completed(who, SIZE_MAX, true);
    return;
  }
  log(who.name + " switches to generation " +
      to_string(who.order->generation));
  if (who.in->order.source == who.rank)
    hand_over(who.in, who);
  announce(who, step_number{who.applied.size()});
  next_step(who);
}

/// What the step thread tells its actor, in order. It does not wait until that
/// has passed it on: a report of later steps may overtake it.
void cluster::by_actor(node_state& who, event what) {
  who.last_posted = std::max(now_ + some(10, 30'000), who.last_posted + 1us);
  at_node(who, who.last_posted - now_,
          [this, what = std::move(what)](node_state& me) {
            report(me);
            to_coordinator(me, what);
          });
}

void cluster::announce(node_state& who, step_number base) {
  worker_ready message{who.id, who.order->generation, base};
  by_actor(who, [this, message] { perform(core_->on_ready(message, now_)); });
}

void cluster::hand_over(const std::shared_ptr<group>& in, node_state& source) {
  position at = source.core->stands_at();
  auto cursors = source.core->cursors();
  for (uint32_t rank : in->order.stale) {
    node_state& to = *nodes_.at(in->processes.at(rank));
    at_node(to, some(500, 20'000),
            [this, in, at, cursors, state = source.applied,
             from = source.process](node_state& me) {
              node_state& giver = *nodes_.at(from);
              if (me.next_in == in)
                connected_beside(me); // it froze before it saw that
              if (me.in != in || in->broken || !giver.alive)
                return;
              if (auto wrong = start_error(rows(), me.order->first, at, cursors))
                fail(me.name + " got a state that does not fit: " + *wrong);
              me.core.emplace(
                  worker_core_config{rows(), me.id, what_.train.epochs},
                  me.order->first, at, cursors);
              me.rank = me.core->rank();
              me.applied = state;
              me.holds = true;
              // What the source still knows of steps that may not be shown.
              constexpr size_t kept = 64;
              for (size_t i = state.size() > kept ? state.size() - kept : 0;
                   i < state.size(); ++i) {
                uint64_t count = 0;
                for (const auto& part : state[i]->rows)
                  count += part.size();
                me.unreported.push_back({state[i]->at.step, state[i]->at.epoch,
                                         state[i]->plan, count, 1, 0});
              }
              announce(me, step_number{me.applied.size()});
              next_step(me);
            });
  }
}

void cluster::on_connect(node_state& who, const connect_order& order) {
  bool beside = who.next_order &&
                order.generation == who.next_order->generation;
  if (order.generation <= who.fenced ||
      (!beside && (!who.order || !who.core ||
                   order.generation != who.order->generation)))
    return;
  auto& in = groups_[order.generation];
  if (!in) {
    in = std::make_shared<group>();
    in->number = order.generation;
    in->world = order.addresses.size();
    in->order = order;
  }
  const plan& under = beside ? who.next_order->first : who.order->first;
  size_t rank = 0;
  while (under.shares[rank].worker != who.id)
    ++rank;
  (beside ? who.next_in : who.in) = in;
  if (!beside)
    who.rank = rank;
  in->connected.insert(rank);
  in->processes[rank] = who.process;
  if (in->broken && !beside) {
    completed(who, SIZE_MAX, true);
    return;
  }
  if (in->connected.size() < in->world)
    return;
  for (auto [each, process] : in->processes)
    at_node(*nodes_.at(process), some(100, 5000),
            [this, in, life = nodes_.at(process)->life](node_state& me) {
              if (me.next_in == in)
                connected_beside(me);
              else if (me.life == life && me.in == in)
                begin(me, in->order);
            });
}

void cluster::begin(node_state& who, const connect_order& order) {
  bool stale = std::count(order.stale.begin(), order.stale.end(),
                          uint32_t(who.rank)) > 0;
  step_number base{value(who.order->start.step) - 1};
  auto ready = [this, base](node_state& me) {
    if (me.applied.size() != value(base))
      fail(me.name + " is ready for step " +
           std::to_string(value(base) + 1) + " with " +
           std::to_string(me.applied.size()) + " steps in its parameters");
    announce(me, base);
    next_step(me);
  };
  bool late = std::count(order.late.begin(), order.late.end(),
                         uint32_t(who.rank)) > 0;
  if (!stale && !late)
    return ready(who);
  if (stale)
    who.holds = false; // until all of it is here
  at_node(who, some(500, 20'000),
          [this, ready, late, in = who.in, life = who.life](node_state& me) {
            if (me.life != life || in->broken)
              return;
            node_state& from = *nodes_.at(in->processes.at(in->order.source));
            if (!from.alive || from.in != in)
              return;
            // The source may already be some steps ahead; what it sent is the
            // base.
            uint64_t base = value(me.order->start.step) - 1;
            if (late)
              me.applied.push_back(from.applied.at(base - 1));
            else
              me.applied.assign(from.applied.begin(),
                                from.applied.begin() + ptrdiff_t(base));
            me.holds = true;
            ready(me);
          });
}

void cluster::next_step(node_state& who) {
  who.drawn = who.core->draw();
  if (!who.drawn) {
    worker_finished message;
    message.worker = who.id;
    message.generation = who.order->generation;
    message.step = step_number{who.applied.size()};
    message.weights_sha256 = std::to_string(who.applied.size());
    log(who.name + " has finished after step " + to_string(message.step));
    by_actor(who,
             [this, message] { perform(core_->on_finished(message)); });
    return;
  }
  at_node(who, some(500, 20'000), [this, life = who.life](node_state& me) {
    if (me.life == life)
      contribute(me);
  });
}

void cluster::contribute(node_state& who) {
  auto in = who.in;
  if (in->broken)
    return completed(who, SIZE_MAX, true);
  uint64_t step = value(who.drawn->at.step);
  group::operation& op = in->steps[step];
  op.what->rows.resize(in->world);
  op.what->rows[who.rank] = who.drawn->rows;
  if (!op.given.empty() && (op.what->at != who.drawn->at ||
                            op.what->plan != who.drawn->plan))
    fail("ranks disagree on step " + std::to_string(step));
  op.what->at = who.drawn->at;
  op.what->plan = who.drawn->plan;
  op.what->generation = in->number;
  op.given[who.rank] = who.core->contribution(who.drawn->rows.size(), 1);
  if (op.given.size() < in->world)
    return;
  // From here on every rank ends by itself, early or late.
  for (auto [rank, process] : in->processes)
    at_node(*nodes_.at(process), some(50, 6000),
            [this, in, step,
             life = nodes_.at(process)->life](node_state& me) {
              if (me.life == life && me.in == in &&
                  !in->steps.at(step).left.contains(me.rank))
                completed(me, step, false);
            });
}

void cluster::completed(node_state& who, size_t step, bool broken) {
  if (broken) {
    ++who.life; // nothing more of this generation happens here
    worker_failed message{who.id, who.order->generation,
                          errc::collective_failed, "peer lost"};
    to_coordinator(
        who, [this, message] { perform(core_->on_failed(message, now_)); });
    return;
  }
  group::operation& op = who.in->steps.at(step);
  op.left.insert(who.rank);
  trailer sums;
  for (auto& [rank, given] : op.given)
    for (size_t i = 0; i < trailer::floats; ++i)
      sums.data()[i] += trailer(given).data()[i];
  if (failure wrong = who.core->reduced(sums))
    fail(who.name + ": " + wrong.message);
  step_end end = who.core->applied();
  who.applied.push_back(op.what);
  who.unreported.push_back({who.drawn->at.step, who.drawn->at.epoch,
                            who.drawn->plan, who.drawn->samples, 1,
                            uint64_t(now_.count())});
  if (random_.one_in(3))
    report(who);
  if (end.left) {
    log(who.name + " has left");
    ++who.life;
    report(who);
    who.left = true;
    return;
  }
  if (end.plan_switched)
    return switch_over(who);
  next_step(who);
}

void cluster::report(node_state& who) {
  if (who.unreported.empty())
    return;
  progress_report message;
  message.worker = who.id;
  message.generation = who.order->generation;
  message.steps = std::exchange(who.unreported, {});
  log(who.name + " reports steps " + to_string(message.steps.front().step) +
      " to " + to_string(message.steps.back().step));
  to_coordinator(
      who, [this, message] { perform(core_->on_progress(message, now_)); });
}

/// A rank is gone: whoever waits for it learns so, at a moment of its own. Who
/// has everything for the step in flight may still complete it.
void cluster::break_group(const std::shared_ptr<group>& which) {
  if (which->broken)
    return;
  which->broken = true;
  for (auto [rank, process] : which->processes) {
    node_state& who = *nodes_.at(process);
    if (who.next_in == which) {
      at_node(who, some(10, 5000), [this, which](node_state& me) {
        if (me.next_in != which)
          return;
        worker_failed message{me.id, which->number, errc::collective_failed,
                              "peer lost"};
        to_coordinator(me, [this, message] {
          perform(core_->on_failed(message, now_));
        });
      });
      continue;
    }
    if (who.in != which)
      continue;
    at_node(who, some(10, 5000),
            [this, which, life = who.life](node_state& me) {
              if (me.life == life && me.in == which)
                completed(me, SIZE_MAX, true);
            });
  }
}

void cluster::on_fence(node_state& who, const fence_order& order) {
  if (order.level < who.fenced)
    return;
  who.fenced = order.level;
  ++who.life;
  ++who.next_life;
  for (const auto& in : {who.in, who.next_in})
    if (in)
      break_group(in);
  who.next_in.reset();
  who.next_order.reset();
  final_ack ack;
  ack.worker = who.id;
  ack.level = order.level;
  ack.holds_state = who.holds;
  ack.step = step_number{who.applied.size()};
  ack.records = std::exchange(who.unreported, {});
  log(who.name + " acks fence " + to_string(order.level) + " with step " +
      to_string(ack.step) + ", " + std::to_string(ack.records.size()) +
      " records" + (ack.holds_state ? "" : ", no state"));
  to_coordinator(who, [this, ack] { perform(core_->on_ack(ack, now_)); });
}

void cluster::on_command(node_state& who, const command& order) {
  if (order.kind == command_kind::release ||
      order.kind == command_kind::leave ||
      order.kind == command_kind::abandon) {
    ++who.life;
    if (who.left && !over_)
      kill(who, "leaves");
  }
}

// -- invariants

void cluster::check_shown(const std::vector<committed_step>& steps) {
  for (const committed_step& step : steps) {
    if (value(step.step) != steps_.size() + 1)
      fail("step " + to_string(step.step) + " is shown after step " +
           std::to_string(steps_.size()));
    steps_.push_back(step);
    // Every living member of the current generation holds it.
    std::shared_ptr<const attempt> held;
    const generation_state& members = *core_->current()->members;
    for (worker_id who : members.workers)
      for (auto& [process, node] : nodes_) {
        // A fence may just have decided on the next generation, in which some
        // get what the members of the one before hold.
        if (node->id != who || !node->alive || members.late.contains(who) ||
            members.stale.contains(who))
          continue;
        if (!node->holds || node->applied.size() < steps_.size())
          fail("step " + to_string(step.step) + " is shown, but " +
               node->name + " does not hold it");
        auto mine = node->applied[steps_.size() - 1];
        if (held && held != mine)
          fail("two attempts at step " + to_string(step.step) +
               " are in the parameters of different workers");
        held = mine;
      }
    if (!held)
      continue;
    if (held->generation != step.generation || held->plan != step.plan)
      fail("step " + to_string(step.step) +
           " is shown with another generation or plan than it was applied in");
    shown_.resize(steps_.size());
    shown_.back() = held;
  }
}

/// What an audit will read tells the same as what was done.
void cluster::check_journal(const lineage& applied) {
  recorded_run run{rows(), {}};
  for (const auto& [number, one] : plans_)
    if (one.second)
      run.plans.push_back({one.first, *one.second});
  replay again(run);
  std::vector<std::vector<row_ref>> drawn;
  for (const auto& one : applied) {
    if (again.error())
      fail("the journal contradicts itself: " + *again.error());
    if (again.book().current().number != one->plan)
      fail("step " + to_string(one->at.step) + " was done under plan " +
           to_string(one->plan) + ", the journal says " +
           to_string(again.book().current().number));
    again.walk(drawn);
    if (drawn != one->rows)
      fail("step " + to_string(one->at.step) +
           " used other rows than the journal says");
  }
}

void cluster::check_end() {
  if (outcome_.state != "done")
    return;
  uint64_t per_epoch =
      (options_.rows + options_.global_batch - 1) / options_.global_batch;
  if (steps_.size() != per_epoch * options_.epochs)
    fail("the run is done, but only " + std::to_string(steps_.size()) +
         " steps are shown");
  // Whoever is left holds the whole run; each epoch is exact.
  const node_state* last = nullptr;
  for (auto& [process, who] : nodes_)
    if (who->alive && who->holds && who->core && !last &&
        who->applied.size() == steps_.size())
      last = who.get();
  if (!last)
    return;
  check_journal(last->applied);
  std::map<uint64_t, std::map<row_ref, int>> used;
  for (const auto& one : last->applied)
    for (const auto& part : one->rows)
      for (const row_ref& row : part)
        ++used[value(one->at.epoch)][row];
  for (size_t i = 0; i < shown_.size(); ++i)
    if (shown_[i] && shown_[i] != last->applied[i])
      fail("shown step " + std::to_string(i + 1) +
           " is not in the final parameters");
  if (used.size() != options_.epochs)
    fail(std::to_string(used.size()) + " epochs in the final parameters");
  for (auto& [epoch, counts] : used) {
    if (counts.size() != options_.rows)
      fail("epoch " + std::to_string(epoch) + " used " +
           std::to_string(counts.size()) + " rows of " +
           std::to_string(options_.rows));
    for (auto& [row, times] : counts)
      if (times != 1)
        fail("a row is used " + std::to_string(times) + " times in epoch " +
             std::to_string(epoch));
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
  return outcome_;
}

} // namespace ballast::simulation
