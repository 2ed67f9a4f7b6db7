/// A simulated worker: what actors/ and gpu/ do around worker_core, without
/// threads, sockets and numbers.
#include "tests/simulation/cluster_parts.hpp"

#include <algorithm>

namespace ballast::simulation {

using namespace std::chrono_literals;

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
  worker_hello message;
  message.name = who.name;
  message.pid = who.process;
  message.host = "host";
  message.build_id = "b";
  if (options_.cramped) {
    message.host = "host " + std::to_string(who.process);
    message.memory_bytes = room_bytes() / 4 * 5;
  }
  if (who.in_run) {
    message.was = who.id;
    message.run = who.order->run;
  }
  message.not_for = who.not_for;
  message.seen = who.fenced;
  for (const auto& order : {who.order, who.next_order})
    if (order)
      message.seen = std::max(message.seen, order->generation);
  to_coordinator(who, [this, &who, message] {
    const auto answer = core_->hello(message, now_);
    const welcome* accepted = std::get_if<welcome>(&answer);
    if (!accepted) {
      log([&] {
        return who.name + " is refused: " + std::get<failure>(answer).message;
      });
      return to_process(
          who, [this, connection = who.connection](node_state& me) {
            if (me.connection != connection)
              return;
            me.connection = 0;
            // It looks again; patience has its end.
            me.alone = me.in_run;
            if (me.in_run)
              return lonely(me);
            at_node(me, some(50'000, 200'000),
                    [this](node_state& one) { connect_to_coordinator(one); });
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
      to_process(who, [this, same, connection = who.connection,
                       welcome = *accepted](node_state& me) {
        if (me.connection == connection)
          welcomed(me, welcome, same);
      });
  });
}

void cluster::welcomed(node_state& who, const welcome& answer, bool same) {
  who.id = answer.worker;
  who.heard = answer.term;
  who.alone = false; // until here nothing is sent that counts
  if (who.in_run && !same) {
    log([&] { return who.name + " is another worker now"; });
    drop_state(who);
  }
  if (!std::exchange(who.beats, true))
    beat(who);
}

/// The coordinator died; this worker has what it had, and goes on while it can.
void cluster::lonely(node_state& who) {
  if (over_)
    return;
  if (!std::exchange(who.alone, true))
    who.still_since = now_;
  if (who.applied.size() != std::exchange(who.still_at, who.applied.size()))
    who.still_since = now_;
  if (who.in_run &&
      now_ - who.still_since > std::chrono::seconds(what_.elastic.orphan_s))
    return kill(who, "no coordinator came back");
  if (!core_ || now_ < stands_until_)
    return at_node(who, some(20'000, 80'000),
                   [this](node_state& me) { lonely(me); });
  connect_to_coordinator(who);
}

/// Whatever happens while it is alone a fence asks for again.
void cluster::tell(node_state& who, event what) {
  if (!who.alone)
    to_coordinator(who, std::move(what));
}

/// As a process that has just begun.
void cluster::drop_state(node_state& who) {
  ++who.life;
  ++who.next_life;
  for (const auto& in : {who.in, who.next_in})
    if (in)
      break_group(in);
  who.in_run = false;
  who.in.reset();
  who.next_in.reset();
  who.order.reset();
  who.next_order.reset();
  who.core.reset();
  who.copy.reset();
  who.fetched.reset();
  who.fresh.reset();
  who.chunks.clear();
  who.holds = false;
  who.applied.clear();
  who.unreported.clear();
  who.records.clear();
  who.ahead.clear();
  who.posts.clear();
  who.standing = false;
  who.left = false;
}

void cluster::beat(node_state& who) {
  at_node(who, 200ms, [this](node_state& me) {
    if (options_.ill_devices && random_.one_in(10))
      me.trouble.causes = uint8_t(random_.below(4));
    tell(me, [this, &me, id = me.id, trouble = me.trouble] {
      core_->take(heartbeat{id, {}, {}, {}, 0, trouble}, now_);
      if (id != me.handle) // of the worker that it was
        return;
      me.heard_ill = trouble.causes != 0;
      if (me.heard_ill)
        me.last_ill = now_;
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

/// A share that cannot be had; nobody else's fault.
bool cluster::fails_to_load(node_state& who, generation of) {
  if (!who.sick)
    return false;
  worker_failed message;
  message.worker = who.id;
  message.generation = of;
  message.code = random_.one_in(2) ? errc::unreachable : errc::disk_full;
  message.message = "no room, or no way to it";
  log([&] { return who.name + " cannot load its share"; });
  to_coordinator(who, [this, message] { tell_core(message); });
  return true;
}

void cluster::on_assignment(node_state& who, const assignment& order) {
  if (order.term < who.heard)
    return;
  who.heard = order.term;
  check_room(who, order);
  // What it has of another run, or of another worker that it was.
  if (who.order &&
      (who.order->run != order.run || who.order->worker != order.worker))
    drop_state(who);
  who.in_run = true;
  who.id = order.worker;
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
  who.ahead.clear();
  who.posts.clear();
  who.standing = false;
  if (order.from_seed || order.from_checkpoint) {
    auto found = disk_->checkpoints.find(disk_->served);
    if (order.from_checkpoint && found == disk_->checkpoints.end())
      return; // an order of a run that is over
    who.applied = order.from_seed ? lineage{} : found->second;
    who.unreported.clear();
    who.records.clear();
    who.copy.reset();
    who.holds = true;
  }
  at_node(who, some(100, 40'000), [this, life = who.life](node_state& me) {
    if (me.life != life || fails_to_load(me, me.order->generation))
      return;
    if (auto wrong = start_error(rows(), me.order->first, me.order->start,
                                 me.order->cursors))
      fail(me.name + " got an order that does not fit: " + *wrong);
    me.core.emplace(worker_core_config{rows(), me.id, what_.train.epochs},
                    me.order->first, me.order->start, me.order->cursors);
    hold_share(me, me.order->first);
    me.fresh = me.order->first;
    worker_loaded message{me.id, me.order->generation, "c" + me.name,
                          "d" + me.name};
    tell(me, [this, message] { tell_core(message); });
  });
}

void cluster::prepare_next(node_state& who, const assignment& order) {
  ++who.next_life;
  who.next_order = order;
  who.next_in.reset();
  // A newcomer loads everything.
  instant takes = who.core ? some(100, 20'000) : some(20'000, 400'000);
  at_node(who, takes, [this, life = who.next_life](node_state& me) {
    if (me.next_life != life || fails_to_load(me, me.next_order->generation))
      return;
    hold_share(me, me.next_order->first);
    worker_loaded message{me.id, me.next_order->generation, "c" + me.name,
                          "d" + me.name};
    tell(me, [this, message] { tell_core(message); });
  });
}

/// The next collective is open on this rank: a member may contribute to the
/// lane, a newcomer waits for the state.
void cluster::connected_beside(node_state& who) {
  const connect_order& order = who.next_in->order;
  size_t rank = 0;
  while (who.next_order->first->shares[rank].worker != who.id)
    ++rank;
  if (std::count(order.stale.begin(), order.stale.end(), uint32_t(rank)) > 0) {
    ++who.life;
    who.core.reset();
    who.in = std::exchange(who.next_in, nullptr);
    who.order = std::exchange(who.next_order, std::nullopt);
    who.rank = rank;
    who.holds = false;
    who.ahead.clear();
    who.posts.clear();
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
  who.fresh = who.order->first;
  if (!who.in)
    fail(who.name + " switches without a collective for it");
  who.rank = who.core->rank();
  if (who.in->broken) {
    completed(who, SIZE_MAX, true);
    return;
  }
  log([&] {
    return who.name + " switches to generation " +
           to_string(who.order->generation);
  });
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
            tell(me, what);
          });
}

void cluster::announce(node_state& who, step_number base) {
  worker_ready message{who.id, who.order->generation, base};
  by_actor(who, [this, message] { tell_core(message); });
}

void cluster::hand_over(const std::shared_ptr<group>& in, node_state& source) {
  position at = source.core->stands_at();
  auto cursors = source.core->cursors();
  for (uint32_t rank : in->order.stale) {
    node_state& to = *nodes_.at(in->processes.at(rank));
    at_node(
        to, some(500, 20'000),
        [this, in, at, cursors, state = source.applied,
         from = source.process](node_state& me) {
          node_state& giver = *nodes_.at(from);
          if (me.next_in == in)
            connected_beside(me); // it froze before it saw that
          if (me.in != in || in->broken || !giver.alive)
            return;
          if (auto wrong = start_error(rows(), me.order->first, at, cursors))
            fail(me.name + " got a state that does not fit: " + *wrong);
          me.core.emplace(worker_core_config{rows(), me.id, what_.train.epochs},
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
            me.records[state[i]->at.step] = me.unreported.back();
          }
          announce(me, step_number{me.applied.size()});
          start_steps(me, in->order.paused);
        });
  }
}

void cluster::on_connect(node_state& who, const connect_order& order) {
  bool beside =
      who.next_order && order.generation == who.next_order->generation;
  if (order.term < who.heard || order.generation <= who.fenced ||
      (!beside &&
       (!who.order || !who.core || order.generation != who.order->generation)))
    return;
  auto& in = groups_[order.generation];
  if (!in) {
    in = std::make_shared<group>();
    in->number = order.generation;
    in->world = order.addresses->size();
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

void cluster::on_fence(node_state& who, const fence_order& order) {
  if (order.term < who.heard)
    return;
  // A coordinator that was restarted may not know of fences that led to
  // nothing.
  who.fenced = std::max(who.fenced, order.level);
  ++who.life;
  ++who.next_life;
  who.standing = false;
  who.posts.clear();
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
  who.unreported.clear();
  for (const auto& [step, record] : who.records)
    if (step > order.known && value(step) <= who.applied.size())
      ack.records.push_back(record);
  log([&] {
    return who.name + " acks fence " + to_string(order.level) + " with step " +
           to_string(ack.step) + ", " + std::to_string(ack.records.size()) +
           " records" + (ack.holds_state ? "" : ", no state");
  });
  to_coordinator(who, [this, ack] { tell_core(ack); });
}

void cluster::on_command(node_state& who, const command& order) {
  switch (order.kind) {
  case command_kind::expel:
    if (order.term < who.heard)
      return;
    log([&] { return who.name + " learns that it is excluded"; });
    drop_state(who);
    return hello(who);
  case command_kind::dismiss:
    if (order.term < who.heard)
      return;
    log([&] { return who.name + " learns that it is dismissed"; });
    if (options_.supervised)
      return kill(who, "dismissed");
    who.not_for = "sim-" + std::to_string(run_number_);
    drop_state(who);
    // Whoever started it starts another one, elsewhere.
    after(some(1000, 80'000), [this] {
      if (!over_)
        start_node();
    });
    return hello(who);
  case command_kind::leave:
    if (order.term >= who.heard)
      kill(who, "has left");
    return;
  case command_kind::kill:
    return kill(who, "on purpose");
  case command_kind::stall:
    return freeze(who, instant(int64_t(order.seconds * 1e9)));
  default:
    break;
  }
  if (order.term < who.heard || !who.in_run || !who.order ||
      order.generation < who.order->generation)
    return;
  if (order.kind == command_kind::release ||
      order.kind == command_kind::abandon)
    return drop_state(who);
  if (!who.core || order.generation != who.order->generation)
    return;
  who.posts.push_back(order.kind);
  if (who.standing)
    stand_still(who);
}

} // namespace ballast::simulation
