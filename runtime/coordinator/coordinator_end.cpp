/// The part of coordinator_core that ends a run, and hears of failures.
#include "runtime/base/run_mark.hpp"
#include "runtime/coordinator/coordinator_core.hpp"

#include <iterator>
#include <utility>
#include <variant>

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
    tell_loss(out, who, why.cause);
  for (auto& [kind, one] : run_->thinned_events)
    if (auto untold = std::exchange(one.untold, std::nullopt))
      out.push_back(write_event{std::move(*untold)});
  run_->phase = phase;
  run_->waits.clear();
  run_->reason = reason;
  run_->exit_code = exit_code;
  config_.ended_runs.insert(run_mark(config_.token, run_->name));
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

/// A stop, and no worker holds the model: it is that of the newest checkpoint.
void coordinator_core::end_without_holders(actions& out,
                                           const std::string& reason) {
  const restart_point& point = run_->points.back();
  bool in_vain = value(run_->undone) > 0;
  std::string why = "stopped";
  if (!reason.empty() && (in_vain || value(point.step()) > 0))
    why += "; " + reason;
  if (value(point.step()) > 0) {
    run_->phase = run_phase::finishing;
    run_->reason = why + "; the model is that of step " +
                   to_string(point.step()) + ", from its checkpoint";
    out.push_back(write_workers{});
    out.push_back(publish_model{point.checkpoint, point.step()});
    return;
  }
  why += in_vain ? "; the steps up to " + to_string(run_->undone) +
                       " are undone: no checkpoint holds any of them"
                 : " before the first step";
  finish(out, run_phase::stopped, run_->asked.stop_code(), std::move(why));
}

actions coordinator_core::fail(failure why) {
  actions out;
  if (!active())
    return out;
  out.push_back(write_event{events::error{why}});
  finish(out, run_phase::failed, describe(why.code).exit_code, why.message);
  std::get<end_run>(out.back()).goes_on =
      why.code == errc::disk_full || why.code == errc::collective_failed;
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
  if (value(message.step) > 0 && (message.code == errc::non_finite_loss ||
                                  message.code == errc::non_finite_gradient))
    return refuse_step(message, now);
  if (message.code == errc::non_finite_parameter &&
      !run_->points.back().checkpoint.empty())
    return fail({message.code,
                 describe_node(who) + ": " + message.message +
                     "; the newest checkpoint is " +
                     run_->points.back().checkpoint,
                 {}});
  if (message.code != errc::collective_failed && newcomer(message.worker)) {
    // Its own trouble: it costs the others a recovery at most.
    run_->joining.failed(who.about.name + ": " + message.message, now);
    return dismiss(message.worker, {message.code, message.message}, now);
  }
  if (message.code != errc::collective_failed)
    return fail(
        {message.code, describe_node(who) + ": " + message.message, {}});
  const std::string words = in_words(message);
  suspect_nccl(*run_, message, who.about.name);
  actions out;
  if (message.lost_rank >= 0 && member(message.worker, message.generation) &&
      size_t(message.lost_rank) < run_->members->workers.size()) {
    // The kernel told its peers; that its connection closed is on its way.
    worker_id gone = run_->members->workers[size_t(message.lost_rank)];
    if (!nodes_.at(gone).connected)
      return out;
    out = lose(gone, losses::process_gone{}, now); // how, we hear soon
    show_out(out, gone);
    return out;
  }
  note_unopened(*run_, message, who.about.name + ": " + words);
  const recovery_reason why =
      recovery_reasons::collective_failed{who.about.name, words};
  // Usually the echo of a death that is still on its way here. Whoever is dead
  // will not answer the fence.
  if (!run_->fenced && phase() != run_phase::finishing)
    recover(out, why, now, now);
  else if (run_->fenced && !message.links.empty() &&
           run_->recovery->lost == worker_id{} && !run_->recovery->first_hand)
    run_->recovery->reason = why; // the first word was of what came of it
  if (run_->recovery && !message.links.empty())
    run_->recovery->first_hand = true;
  return out;
}

} // namespace ballast
