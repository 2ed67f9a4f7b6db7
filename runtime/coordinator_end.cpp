/// The part of coordinator_core that ends a run, and hears of failures.
#include "runtime/coordinator_core.hpp"

#include <iterator>
#include <utility>

namespace ballast {

void coordinator_core::to_all(actions& out, command_kind kind,
                              const std::string& reason) {
  for (worker_id who : run_->members->workers)
    if (nodes_.at(who).connected)
      out.push_back(send_command{
          who, {config_.term, run_->members->number, kind, reason}});
}

void coordinator_core::finish(actions& out, run_phase phase, int exit_code,
                              std::string reason) {
  for (auto [who, why] : std::map(unexplained_))
    tell_loss(out, who, why.reason);
  run_->phase = phase;
  run_->reason = reason;
  run_->exit_code = exit_code;
  run_->fenced.reset();
  run_->change.reset();
  run_->transfer.reset();
  out.push_back(write_workers{});
  if (run_->members)
    to_all(out,
           phase == run_phase::failed ? command_kind::abandon
                                      : command_kind::release,
           reason);
  out.push_back(end_run{to_string(phase), exit_code, std::move(reason)});
}

actions coordinator_core::fail(failure why) {
  actions out;
  if (!active())
    return out;
  out.push_back(write_event{"error",
                            {{"code", to_string(why.code)},
                             {"message", why.message},
                             {"pointer", why.pointer}}});
  finish(out, run_phase::failed, describe(why.code).exit_code, why.message);
  return out;
}

void coordinator_core::fail(actions& out, failure why) {
  actions more = fail(std::move(why));
  out.insert(out.end(), std::make_move_iterator(more.begin()),
             std::make_move_iterator(more.end()));
}

actions coordinator_core::on_trouble(failure why) {
  return fail(std::move(why));
}

actions coordinator_core::on_failed(const worker_failed& message, instant now) {
  bool of_change = active() && run_->change &&
                   message.generation == run_->change->number &&
                   nodes_.contains(message.worker);
  // A switch that some have seen and others have not.
  bool of_before = active() && run_->members &&
                   message.generation == run_->members->before &&
                   member(message.worker, run_->members->number);
  if (!member(message.worker, message.generation) && !of_change && !of_before)
    return {};
  const node& who = nodes_.at(message.worker);
  if (message.code == errc::non_finite_loss && value(message.step) > 0)
    return refuse_step(message, now);
  if (message.code != errc::collective_failed)
    return fail(
        {message.code, describe_node(who) + ": " + message.message, {}});
  suspect_nccl(*run_, message, who.about.name);
  actions out;
  if (message.lost_rank >= 0 && member(message.worker, message.generation) &&
      size_t(message.lost_rank) < run_->members->workers.size()) {
    // The kernel told its peers; that its connection closed is on its way.
    worker_id gone = run_->members->workers[size_t(message.lost_rank)];
    if (!nodes_.at(gone).connected)
      return out;
    out = lose(gone, "its process is gone", now); // how, we hear soon
    show_out(out, gone);
    return out;
  }
  // Usually the echo of a death that is still on its way here. Whoever is dead
  // will not answer the fence.
  if (!run_->fenced && phase() != run_phase::finishing)
    recover(out, who.about.name + ": all-reduce failed: " + message.message,
            now, now);
  return out;
}

} // namespace ballast
