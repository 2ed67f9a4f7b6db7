#include "runtime/worker/coordinator_link.hpp"

#include "runtime/base/run_mark.hpp"

namespace ballast::worker {

namespace {

const link_decision ended_by_signal{link_step::end, "ended by a signal", 130};

} // namespace

uint32_t coordinator_link::patience_s() const {
  if (!config_.looks_again)
    return 0;
  if (in_run_)
    return orphan_s_;
  // A child of `run` that holds nothing is replaced more quickly than found.
  return config_.once || !welcomed_ ? 0 : config_.idle_wait_s;
}

// -- joining ------------------------------------------------------------------

worker_hello coordinator_link::hello(worker_hello about,
                                     generation seen) const {
  if (in_run_) {
    about.was = me_.worker;
    about.run = run_;
    about.run_mark = run_mark_;
  }
  about.leaving = asked_to_end_;
  about.not_for = dismissed_;
  about.seen = seen;
  return about;
}

link_decision coordinator_link::on_welcome(const welcome& answer) {
  const bool same = me_.worker == answer.worker;
  me_ = answer;
  welcomed_ = true;
  alone_ = false; // until here nothing is sent that counts
  killed_ = false;
  refusal_.clear();
  if (!in_run_ || same)
    return {};
  // Nobody waited for what it held.
  return drop("joins again as a new worker", false);
}

/// Dead again before it answered, the old one in its last moments, which still
/// knows this worker, or one that leads other runs? Patience has its end.
link_decision coordinator_link::on_refused(const failure& why, instant now) {
  const bool final = why.code == errc::name_taken ||
                     why.code == errc::other_build || why.code == errc::usage;
  if (patience_s() == 0 || (!in_run_ && final))
    return {link_step::end, why.message, 1};
  if (!std::exchange(alone_, true))
    still_since_ = now;
  if (why.code != errc::other_run)
    return {link_step::look_again};
  const bool news = std::exchange(refusal_, why.message) != why.message;
  return {link_step::hello_later, news ? why.message : std::string()};
}

// -- orders -------------------------------------------------------------------

link_decision coordinator_link::on_assignment(const assignment& order) {
  if (!takes(order.term))
    return {};
  me_.term = order.term;
  me_.heartbeat_ms = order.heartbeat_ms;
  // Its request to leave went to an earlier coordinator, or crossed this.
  if (asked_to_end_ && !in_run_)
    return {};
  in_run_ = true;
  run_ = order.run;
  run_folder_ = order.run_folder;
  run_mark_ = run_mark(order.token, order.run);
  orphan_s_ = order.orphan_s;
  return {link_step::take};
}

link_decision coordinator_link::drop(std::string reason, bool hello_after) {
  in_run_ = false;
  if (asked_to_end_)
    return ended_by_signal;
  hello_after_drop_ = hello_after;
  return {link_step::drop_run, std::move(reason)};
}

link_decision coordinator_link::on_command(const command& order,
                                           generation present) {
  switch (order.kind) {
  case command_kind::kill:
    return {link_step::kill};
  case command_kind::stall:
    return {link_step::stall};
  case command_kind::slow:
  case command_kind::damage:
  case command_kind::flip:
  case command_kind::recorded:
    return {link_step::take};
  default:
    break;
  }
  if (!takes(order.term))
    return {};
  switch (order.kind) {
  case command_kind::expel:
    return drop(order.reason, true);
  case command_kind::dismiss:
    if (config_.once)
      return {link_step::end, order.reason, 1};
    dismissed_ = run_;
    return drop(order.reason, true);
  case command_kind::leave:
    in_run_ = false;
    return {link_step::end};
  default:
    break;
  }
  if (!in_run_ || order.generation < present)
    return {};
  const bool abandoned = order.kind == command_kind::abandon;
  if (!abandoned && order.kind != command_kind::release)
    return {link_step::take};
  in_run_ = false;
  // A process that ends anyway does not wait for a collective to give up.
  if (config_.once)
    return {link_step::end, order.reason, abandoned ? 1 : 0};
  if (asked_to_end_) // nothing is left to wait for
    return {link_step::end};
  return drop(order.reason, false);
}

link_decision coordinator_link::on_dropped() {
  return {std::exchange(hello_after_drop_, false) ? link_step::say_hello
                                                  : link_step::ignore};
}

// -- the rest of the world ----------------------------------------------------

link_decision coordinator_link::on_coordinator_lost(instant now) {
  if (alone_)
    return {};
  if (patience_s() == 0)
    return {link_step::end, "the coordinator is gone: its connection closed",
            1};
  alone_ = true;
  still_since_ = now;
  return {link_step::look_again,
          "the coordinator is gone; waits for another one for " +
              std::to_string(patience_s()) +
              " s once nothing can be done without it"};
}

link_decision coordinator_link::on_asked_to_end() {
  if (!in_run_ || alone_)
    return ended_by_signal;
  asked_to_end_ = true;
  return {link_step::ask_to_leave};
}

link_decision coordinator_link::on_run_killed() {
  if (!in_run_ || patience_s() == 0)
    return {link_step::end, "the run was killed", 1};
  killed_ = true;
  return {link_step::freeze, "the run was killed"};
}

link_decision coordinator_link::on_time(step_number at, instant now) {
  const bool moves = !killed_ && at != last_step_;
  last_step_ = at;
  if (!alone_)
    return {};
  if (moves)
    still_since_ = now;
  if (now - still_since_ <= std::chrono::seconds(patience_s()))
    return {};
  return {link_step::end,
          "no coordinator came back within " + std::to_string(patience_s()) +
              " s" + (refusal_.empty() ? "" : ": " + refusal_),
          1};
}

} // namespace ballast::worker
