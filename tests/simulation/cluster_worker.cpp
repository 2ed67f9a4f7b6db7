/// A simulated worker: the shipped decisions (coordinator_link,
/// worker_lifecycle and worker_core), and around them what actors/ and gpu/ do,
/// without threads, sockets and numbers.
#include "runtime/job/leaves_of.hpp"
#include "tests/simulation/cluster_parts.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ballast::simulation {

using namespace std::chrono_literals;

namespace {

worker::worker_core_config core_of(worker_id self, ledger::ledger_config rows,
                                   const cluster_options& options) {
  return {std::move(rows),    self,           options.epochs,        0,
          options.compresses, options.judged, options.evaluate_every};
}

} // namespace

// -- the coordinator ----------------------------------------------------------

/// The network is there where the coordinator's process is.
void cluster::connect_to_coordinator(node_state& who) {
  if (over_)
    return;
  if (!core_)
    return at_node(who, some(500, 60'000),
                   [this](node_state& me) { connect_to_coordinator(me); });
  who.connection = ++sequence_;
  hello(who);
}

void cluster::hello(node_state& who) {
  who.hello_sent = true;
  worker_hello about;
  about.name = who.name;
  about.pid = who.process;
  about.host = "host";
  about.build_id = "b";
  if (options_.cramped) {
    about.host = "host " + std::to_string(who.process);
    about.memory_bytes = room_bytes() / 4 * 5;
  }
  to_coordinator(who, [this, &who,
                       message = who.link.hello(std::move(about),
                                                who.lifecycle.newest())] {
    const auto answer = greet(*core_, message, now_);
    const welcome* accepted = std::get_if<welcome>(&answer);
    if (!accepted) {
      const failure& refused = std::get<failure>(answer);
      log([&] { return who.name + " is refused: " + refused.message; });
      return to_process(who, [this, connection = who.connection,
                              why = refused](node_state& me) {
        if (me.connection != connection)
          return;
        me.connection = 0;
        me.hello_sent = false;
        carry_out(me, me.link.on_refused(why, now_));
      });
    }
    bool same = message.was != worker_id{} && accepted->worker == message.was;
    log([&] { return who.name + (same ? " is back" : " joins"); });
    last_progress_ = now_;
    who.handle = accepted->worker;
    if (!same) {
      who.heard_ill = false;
      ill_.erase(who.name);
    }
    user_->starting.erase(who.name);
    uint64_t life = life_;
    perform(box_.take());
    if (life == life_)
      to_process(who, [this, connection = who.connection,
                       welcome = *accepted](node_state& me) {
        if (me.connection != connection)
          return;
        me.id = welcome.worker;
        me.hello_sent = false;
        carry_out(me, me.link.on_welcome(welcome));
        if (!std::exchange(me.beats, true))
          beat(me);
      });
  });
}

/// As long as it has patience.
void cluster::look_for_coordinator(node_state& who) {
  if (over_)
    return;
  carry_out(who, who.link.on_time(step_number{who.applied.size()}, now_));
  if (!who.alive)
    return;
  if (!core_ || now_ < stands_until_)
    return at_node(who, some(20'000, 80'000),
                   [this](node_state& me) { look_for_coordinator(me); });
  who.searching = false;
  connect_to_coordinator(who);
}

void cluster::carry_out(node_state& who, const worker::link_decision& order) {
  switch (order.what) {
  case worker::link_step::say_hello:
    return hello(who);
  case worker::link_step::hello_later:
    return at_node(who, 500ms, [this](node_state& me) {
      carry_out(me, {worker::link_step::look_again});
    });
  case worker::link_step::look_again:
    if (!std::exchange(who.searching, true))
      look_for_coordinator(who);
    return;
  case worker::link_step::drop_run:
    log([&] { return who.name + " drops its state: " + order.reason; });
    return perform(who, who.lifecycle.leave(order.reason));
  case worker::link_step::end:
    return kill(who, order.reason.empty() ? "has left" : order.reason);
  default:
    return;
  }
}

void cluster::beat(node_state& who) {
  at_node(who, 200ms, [this](node_state& me) {
    if (options_.ill_devices && random_.one_in(10))
      me.trouble.causes = uint8_t(random_.below(4));
    if (!me.link.alone())
      to_coordinator(me, [this, &me, id = me.id, trouble = me.trouble] {
        on(*core_, heartbeat{id, {}, {}, {}, trouble}, now_);
        if (id != me.handle) // of the worker that it was
          return;
        me.heard_ill = trouble.causes != 0;
        if (me.heard_ill)
          me.last_ill = now_;
      });
    beat(me);
  });
}

// -- reports ------------------------------------------------------------------

/// The engine's threads do not wait until the actor has passed a report on: one
/// of later steps may overtake it.
void cluster::pass_on(node_state& who, const worker_report& what) {
  who.last_posted = std::max(now_ + some(10, 30'000), who.last_posted + 1us);
  at_node(who, who.last_posted - now_, [this, what](node_state& me) {
    report(me);
    if (!me.link.alone()) // whatever happens then a fence asks for again
      to_coordinator(me, [this, what] { tell_core(what); });
  });
}

void cluster::step_thread_reports(node_state& who, worker_report what) {
  perform(who, who.lifecycle.on_report(std::move(what)));
}

void cluster::announce(node_state& who, step_number base) {
  step_thread_reports(who, worker_ready{{}, {}, base});
}

// -- orders -------------------------------------------------------------------

void cluster::on_assignment(node_state& who, const assignment& order) {
  if (who.link.on_assignment(order).what != worker::link_step::take)
    return;
  check_room(who, order);
  who.id = order.worker;
  perform(who, who.lifecycle.on_assignment(order));
}

void cluster::on_fence(node_state& who, const fence_order& order) {
  if (!who.link.takes(order.term))
    return;
  perform(who, who.lifecycle.on_fence(order));
  final_ack ack;
  ack.worker = who.id;
  ack.level = order.level;
  ack.holds_state = who.lifecycle.may_hold_state() && who.holds;
  ack.step = step_number{who.applied.size()};
  ack.lacks_last_step = !who.has_last_step;
  for (const auto& [step, record] : who.records)
    if (step > order.known && value(step) <= who.applied.size())
      ack.records.push_back(record);
  for (const evaluation_report& one : who.evaluations)
    if (ack.holds_state && one.step > order.evaluated)
      ack.evaluations.push_back(one);
  log([&] {
    return who.name + " acks fence " + to_string(order.level) + " with step " +
           to_string(ack.step) + ", " + std::to_string(ack.records.size()) +
           " records" + (ack.holds_state ? "" : ", no state");
  });
  to_coordinator(who, [this, ack] { tell_core(ack); });
}

void cluster::on_command(node_state& who, const command& order) {
  const assignment* here = who.lifecycle.present();
  const worker::link_decision decided =
      who.link.on_command(order, here ? here->generation : generation{});
  switch (decided.what) {
  case worker::link_step::take:
    return perform(who, who.lifecycle.on_command(order));
  case worker::link_step::kill:
    return kill(who, "on purpose");
  case worker::link_step::stall:
    return freeze(who, instant(int64_t(order.seconds * 1e9)));
  default:
    break;
  }
  // Whoever started it starts another one, elsewhere.
  if (order.kind == command_kind::dismiss &&
      decided.what == worker::link_step::drop_run)
    after(some(1000, 80'000), [this] {
      if (!over_)
        start_node();
    });
  carry_out(who, decided);
}

// -- what the engine does -----------------------------------------------------

struct cluster::engine {
  cluster& in;
  node_state& me;

  void operator()(const worker::load_share& what) { in.load(me, what.order); }
  void operator()(const worker::load_beside& what) {
    in.load_next(me, what.order);
  }
  void operator()(const worker::join_ranks& what) {
    in.join(me, what.order, false);
  }
  void operator()(const worker::join_beside& what) {
    in.join(me, what.order, true);
  }
  void operator()(const worker::stop_generations&) { in.end_step_thread(me); }
  void operator()(const worker::drop_run&) {
    in.forget_run(me);
    in.at_node(me, in.some(10, 3000), [cluster = &in](node_state& one) {
      cluster->perform(one, one.lifecycle.on_dropped());
    });
  }
  void operator()(const worker::answer_leave&) {
    in.carry_out(me, me.link.on_dropped());
  }
  void operator()(const worker::post_command& what) {
    me.posts.push_back(what.order.kind);
    if (me.standing)
      in.stand_still(me);
  }
  void operator()(const worker::post_plan& what) {
    if (me.core && !me.left)
      (void)me.core->install(what.pending);
  }
  void operator()(const worker::inject_fault&) {}
  void operator()(const worker::forget_steps&) {}
  void operator()(const worker::copy_chunks& what) { in.fetch(me, what.order); }
  void operator()(const worker::send_report& order) {
    in.pass_on(me, order.what);
  }
  void operator()(const worker::end_process& what) { in.kill(me, what.reason); }
};

void cluster::perform(node_state& who, const worker::worker_actions& list) {
  for (const worker::worker_action& one : list)
    std::visit(engine{*this, who}, one);
}

/// Nothing more of what it trains in happens here.
void cluster::end_step_thread(node_state& who) {
  ++who.life;
  who.standing = false;
  who.posts.clear();
  for (const auto& in : {who.in, who.next_in})
    if (in)
      break_group(in);
  who.next_in.reset();
}

/// As in a process that has just begun.
void cluster::forget_run(node_state& who) {
  end_step_thread(who);
  who.in.reset();
  who.core.reset();
  who.copy.reset();
  who.fetched.reset();
  who.fresh.reset();
  who.chunks.clear();
  who.loaded = false;
  who.holds = false;
  who.has_last_step = false;
  who.applied.clear();
  who.judged = {};
  who.best.clear();
  who.evaluations.clear();
  who.unreported.clear();
  who.records.clear();
  who.ahead.clear();
  who.left = false;
}

ledger::ledger_config cluster::rows() const {
  ledger::ledger_config out{what_.seed,
                            what_.train.global_batch,
                            {},
                            what_.train.shuffle.window(),
                            leaves_of(what_.train)};
  for (const ledger::chunk_info& chunk : set_.train)
    out.chunk_rows.push_back(chunk.rows);
  out.uses = options_.uses;
  return out;
}

/// A share that cannot be had; nobody else's fault.
bool cluster::fails_to_load(node_state& who, generation of) {
  if (!who.sick)
    return false;
  worker_failed message;
  message.code = random_.one_in(2) ? errc::unreachable : errc::disk_full;
  message.message = "no room, or no way to it";
  log([&] { return who.name + " cannot load its share"; });
  perform(who, who.lifecycle.on_load_failed(of, message));
  return true;
}

void cluster::load(node_state& who, const assignment& order) {
  ++who.life;
  who.in.reset();
  who.core.reset();
  who.drawn.reset();
  who.ahead.clear();
  who.posts.clear();
  who.unreported.clear(); // the answer to the fence had them
  who.standing = false;
  who.left = false;
  // A newcomer loads everything.
  instant takes =
      order.beside && !who.loaded ? some(20'000, 400'000) : some(100, 40'000);
  at_node(who, takes, [this, life = who.life](node_state& me) {
    if (me.life != life)
      return;
    const assignment& order = me.order();
    if (fails_to_load(me, order.generation))
      return;
    if (order.from_checkpoint && !disk_->checkpoints.contains(disk_->served))
      return;                              // an order of a run that is over
    if (!std::exchange(me.loaded, true)) { // its first state
      me.holds = true;
      if (order.from_checkpoint)
        std::tie(me.applied, me.best) =
            std::pair(disk_->checkpoints.at(disk_->served),
                      disk_->bests.at(disk_->served));
    }
    if (!order.beside) {
      if (auto wrong =
              start_error(rows(), order.first, order.start, order.cursors))
        fail(me.name + " got an order that does not fit: " + *wrong);
      me.core.emplace(core_of(me.id, rows(), options_), order.first,
                      order.start, order.cursors);
    }
    hold_share(me, order.first);
    me.fresh = order.first;
    perform(me, me.lifecycle.on_loaded(order.generation, "c" + me.name,
                                       "d" + me.name, 1));
  });
}

void cluster::load_next(node_state& who, const assignment& order) {
  who.next_in.reset();
  at_node(
      who, some(100, 20'000), [this, of = order.generation](node_state& me) {
        if (!me.lifecycle.wants(of) || fails_to_load(me, of))
          return;
        if (const assignment* next = me.lifecycle.next())
          hold_share(me, next->first);
        perform(me, me.lifecycle.on_loaded(of, "c" + me.name, "d" + me.name));
      });
}

/// Each rank waits until all have come.
void cluster::join(node_state& who, const connect_order& order, bool beside) {
  auto& in = groups_[order.generation];
  if (!in) {
    in = std::make_shared<group>();
    in->number = order.generation;
    in->world = order.addresses->size();
    in->order = order;
  }
  const ledger::plan& under =
      beside ? *who.lifecycle.next()->first : *who.order().first;
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
  if (apart(*in))
    return after(some(1000, 200'000), [this, in] { break_group(in); });
  for (auto [each, process] : in->processes)
    at_node(*nodes_.at(process), some(100, 5000),
            [this, in, life = nodes_.at(process)->life](node_state& me) {
              if (me.next_in == in)
                connected_beside(me);
              else if (me.life == life && me.in == in)
                begin(me, in->order);
            });
}

/// The next collective is open on this rank: from now on it contributes to the
/// lane.
void cluster::connected_beside(node_state& who) {
  if (failure refused = who.core->install(who.lifecycle.next()->first))
    fail(who.name + " refuses the plan of the switch: " + refused.message);
}

/// The plan of the next generation is in force.
void cluster::switch_over(node_state& who) {
  ++who.life;
  if (!who.lifecycle.on_switched() || !who.next_in)
    fail(who.name + " switches without a collective for it");
  who.in = std::exchange(who.next_in, nullptr);
  who.fresh = who.order().first;
  who.rank = who.core->rank();
  if (who.in->broken) {
    completed(who, SIZE_MAX, true);
    return;
  }
  log([&] {
    return who.name + " switches to generation " +
           to_string(who.order().generation);
  });
  if (who.in->order.source == who.rank)
    hand_over(who.in, who);
  announce(who, step_number{who.applied.size()});
  if (judging{*this}.is_over(who))
    return finish(who);
  next_step(who);
}

/// A newcomer gets its state at the switch, from a member.
void cluster::hand_over(const std::shared_ptr<group>& in, node_state& source) {
  ledger::position at = source.core->stands_at();
  auto cursors = source.core->cursors();
  for (uint32_t rank : in->order.stale) {
    node_state& to = *nodes_.at(in->processes.at(rank));
    at_node(to, some(500, 20'000),
            [this, in, at, cursors, state = source.applied,
             judged = source.judged, evaluations = source.evaluations,
             best = source.best, from = source.process](node_state& me) {
              node_state& giver = *nodes_.at(from);
              if (me.in != in || in->broken || !giver.alive)
                return;
              if (auto wrong =
                      start_error(rows(), me.order().first, at, cursors))
                fail(me.name + " got a state that does not fit: " + *wrong);
              me.core.emplace(core_of(me.id, rows(), options_),
                              me.order().first, at, cursors);
              me.rank = me.core->rank();
              me.applied = state;
              me.judged = judged;
              me.evaluations = evaluations;
              me.best = best;
              me.holds = true;
              me.has_last_step = false;
              // What the source still knows of steps that may not be shown.
              constexpr size_t kept = 64;
              for (size_t i = state.size() > kept ? state.size() - kept : 0;
                   i < state.size(); ++i) {
                uint64_t count = 0;
                for (const auto& part : state[i]->rows)
                  count += part.size();
                me.unreported.push_back({state[i]->at.step, state[i]->at.epoch,
                                         state[i]->plan, count, 1, 0});
                me.records[state[i]->at.step] = me.unreported.back();
              }
              announce(me, step_number{me.applied.size()});
              start_steps(me, in->order.paused);
            });
  }
}

} // namespace ballast::simulation
