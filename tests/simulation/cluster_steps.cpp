// Steps of a simulated worker: what it brings to each, what it applies, and
// what a collective that breaks leaves.
#include "tests/simulation/cluster_parts.hpp"

#include <algorithm>

namespace ballast::simulation {

void cluster::begin(node_state& who, const connect_order& order) {
  bool stale = std::count(order.stale.begin(), order.stale.end(),
                          uint32_t(who.rank)) > 0;
  if (who.order().beside) { // a newcomer; its state comes at the switch
    if (!who.core)
      who.holds = false;
    return;
  }
  step_number base{value(who.order().start.step) - 1};
  auto ready = [this, base](node_state& me) {
    if (me.applied.size() != value(base))
      fail(me.name + " is ready for step " + std::to_string(value(base) + 1) +
           " with " + std::to_string(me.applied.size()) +
           " steps in its parameters");
    me.judged = me.in->order.judged;
    judging{*this}.keep_best(me);
    announce(me, base);
    if (value(me.in->order.evaluate) > 0)
      judging{*this}.evaluate(me);
    start_steps(me, me.in->order.paused);
  };
  bool late =
      std::count(order.late.begin(), order.late.end(), uint32_t(who.rank)) > 0;
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
            uint64_t base = value(me.order().start.step) - 1;
            if (late && !from.has_last_step)
              fail(from.name + " is to tell " + me.name + " of step " +
                   std::to_string(base) + ", which it received itself");
            if (!late && value(from.judged.keep.step) <= base)
              me.best = from.best;
            else if (!late)
              me.best.assign(from.applied.begin(),
                             from.applied.begin() +
                                 ptrdiff_t(value(in->order.judged.keep.step)));
            if (late)
              me.applied.push_back(from.applied.at(base - 1));
            else
              me.applied.assign(from.applied.begin(),
                                from.applied.begin() + ptrdiff_t(base));
            // And what is known of these steps.
            for (const auto& [step, record] : from.records)
              if (value(step) <= base && (!late || value(step) == base))
                me.records[step] = record;
            me.holds = true;
            me.has_last_step = late;
            ready(me);
          });
}

/// One step is drawn before the one in flight is done.
void cluster::start_steps(node_state& who, bool paused) {
  who.ahead.clear();
  if (judging{*this}.is_over(who))
    return finish(who);
  if (auto first = who.core->draw())
    who.ahead.push_back(std::move(*first));
  if (!paused)
    return next_step(who);
  who.standing = true;
  who.unsent = false; // it may be: a step broke before the run stood still
  log([&] { return who.name + " begins a pause"; });
  step_thread_reports(who,
                      worker_paused{{}, {}, step_number{who.applied.size()}});
  stand_still(who);
}

void cluster::take_posts(node_state& who) {
  for (command_kind kind : std::exchange(who.posts, {}))
    if (kind == command_kind::pause)
      who.core->request_pause();
    else if (kind == command_kind::stop)
      who.core->request_stop();
    else if (kind == command_kind::resume || kind == command_kind::unpause)
      who.core->resume();
    else if (kind == command_kind::checkpoint)
      who.copy_wanted = true;
}

/// Everybody stands after the same step; whatever comes ends it or is done.
void cluster::stand_still(node_state& who) {
  // Who asks again could not fetch the copy that there was.
  auto copy_anew = [&] {
    who.copied_in.reset();
    copy_state(who);
  };
  if (who.standing && who.copy_wanted)
    copy_anew(); // told too late for the step before
  while (who.standing && !who.posts.empty()) {
    command_kind kind = who.posts.front();
    who.posts.erase(who.posts.begin());
    if (kind == command_kind::stop) {
      copy_state(who);
      who.core->stop_here();
      who.standing = false;
      return finish(who);
    }
    if (kind == command_kind::resume) {
      who.core->resume();
      who.standing = false;
      return next_step(who);
    }
    if (kind == command_kind::checkpoint)
      copy_anew();
  }
}

/// Its part of it; in the simulation each part is as good as all.
void cluster::copy_state(node_state& who) {
  if (who.unsent)
    fail(who.name + " has something to send that no copy of its state holds");
  who.copy_wanted = false;
  if (who.copied_in == who.in && who.copy && *who.copy == who.applied)
    return;
  who.copied_in = who.in;
  who.copy = who.applied;
  who.copy_best = who.best;
  who.copy_rank = who.rank;
  who.copy_world = who.in->world;
  if (who.rank == 0)
    step_thread_reports(who,
                        state_copied{{}, {}, step_number{who.applied.size()}});
}

void cluster::finish(node_state& who) {
  worker_finished message;
  message.step = step_number{who.applied.size()};
  message.stopped = who.core->stopped();
  message.weights_digest = std::to_string(who.applied.size());
  message.best_digest = std::to_string(who.best.size());
  (void)judging{*this}.is_over(who); // and what is kept is right
  log([&] {
    return who.name + " has finished after step " + to_string(message.step);
  });
  step_thread_reports(who, message);
}

void cluster::next_step(node_state& who) {
  take_posts(who);
  if (who.ahead.empty())
    return finish(who);
  who.drawn = std::move(who.ahead.front());
  who.ahead.clear();
  if (auto following = who.core->draw())
    who.ahead.push_back(std::move(*following));
  gather(who);
}

void cluster::contribute(node_state& who) {
  auto in = who.in;
  if (in->broken)
    return completed(who, SIZE_MAX, true);
  uint64_t step = value(who.drawn->at.step);
  group::operation& op = in->steps[step];
  op.what->rows.resize(in->world);
  op.what->rows[who.rank] = who.drawn->rows;
  if (!op.given.empty() &&
      (op.what->at != who.drawn->at || op.what->plan != who.drawn->plan))
    fail("ranks disagree on step " + std::to_string(step));
  const bool whole = who.core->leaves_nothing_out();
  if (!op.given.empty() && op.nothing_left_out != whole)
    fail("ranks disagree on what step " + std::to_string(step) + " sends");
  op.nothing_left_out = whole;
  op.what->at = who.drawn->at;
  op.what->plan = who.drawn->plan;
  op.what->generation = in->number;
  const bool due =
      value(who.core->copied_after()) % options_.checkpoint_every == 0;
  op.given[who.rank] =
      who.core->contribution(who.drawn->rows.size(), 1,
                             {.due = who.rank == 0 && due,
                              .asked = who.rank == 0 && who.copy_wanted,
                              .busy = due && random_.one_in(16)});
  if (op.given.size() < in->world)
    return;
  // From here on every rank ends by itself, early or late.
  for (auto [rank, process] : in->processes)
    at_node(*nodes_.at(process), some(50, 6000),
            [this, in, step, life = nodes_.at(process)->life](node_state& me) {
              if (me.life == life && me.in == in &&
                  !in->steps.at(step).left.contains(me.rank))
                completed(me, step, false);
            });
}

void cluster::tell_peers(node_state& dead) {
  if (dead.left)
    return;
  for (auto [rank, process] : dead.in->processes)
    at_node(*nodes_.at(process), some(20, 500),
            [this, in = dead.in, lost = int32_t(dead.rank)](node_state& me) {
              if (me.in != in)
                return;
              worker_failed message;
              message.code = errc::collective_failed;
              message.lost_rank = lost;
              step_thread_reports(me, message);
            });
}

void cluster::completed(node_state& who, size_t step, bool broken) {
  if (broken) {
    ++who.life; // nothing more of this generation happens here
    who.standing = false;
    return step_thread_reports(who, broken_off(who, *who.in));
  }
  group::operation& op = who.in->steps.at(step);
  op.left.insert(who.rank);
  worker::trailer sums;
  for (auto& [rank, given] : op.given)
    for (size_t i = 0; i < worker::trailer::floats; ++i)
      sums.data()[i] += worker::trailer(given).data()[i];
  if (failure wrong = who.core->reduced(sums))
    fail(who.name + ": " + wrong.message);
  worker::step_end end = who.core->applied();
  who.applied.push_back(op.what);
  who.has_last_step = true;
  who.unsent = options_.compresses && !op.nothing_left_out;
  who.unreported.push_back({who.drawn->at.step, who.drawn->at.epoch,
                            who.drawn->plan, who.drawn->samples, 1,
                            uint64_t(now_.count())});
  who.records[who.drawn->at.step] = who.unreported.back();
  if (end.copy)
    copy_state(who);
  // Before anybody can know of the step, and send more.
  if (who.fresh && who.drawn->plan == who.fresh->number)
    forget_others(who);
  // Its heart tells of all steps, at the latest with the next heartbeats.
  if (random_.one_in(3) || now_ - who.reported_at > std::chrono::seconds(2))
    report(who);
  if (end.evaluate)
    judging{*this}.evaluate(who);
  if (end.left) {
    if (who.unsent)
      fail(who.name + " leaves with something that it has not sent");
    log([&] { return who.name + " has left"; });
    ++who.life;
    report(who);
    who.left = true;
    return;
  }
  if (end.plan_switched) {
    const ledger::plan& now = who.core->current();
    if (now.generation != who.order().generation)
      return switch_over(who);
    who.fresh = now;
    ++outcome_.moves;
  }
  if (end.finish || (end.evaluate && judging{*this}.is_over(who))) {
    if (who.unsent)
      fail(who.name + " ends with something that it has not sent");
    return finish(who);
  }
  if (end.pause) {
    who.standing = true;
    log([&] { return who.name + " stands still"; });
    step_thread_reports(who,
                        worker_paused{{}, {}, step_number{who.applied.size()}});
    return stand_still(who);
  }
  next_step(who);
}

/// Also without a coordinator: the next one asks for what it does not know.
void cluster::report(node_state& who) {
  if (who.unreported.empty() || !who.lifecycle.present())
    return;
  progress_report message;
  message.worker = who.id;
  message.generation = who.order().generation;
  message.steps = std::exchange(who.unreported, {});
  who.reported_at = now_;
  if (who.link.alone())
    return;
  log([&] {
    return who.name + " reports steps " +
           to_string(message.steps.front().step) + " to " +
           to_string(message.steps.back().step);
  });
  to_coordinator(who, [this, message] { tell_core(message); });
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
        if (me.next_in == which)
          perform(me, me.lifecycle.on_load_failed(which->number,
                                                  broken_off(me, *which)));
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

} // namespace ballast::simulation
