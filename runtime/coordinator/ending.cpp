/// How a run ends: all have finished, a user stops it, or it fails.
#include "runtime/base/run_mark.hpp"
#include "runtime/coordinator/judging.hpp"
#include "runtime/coordinator/transitions.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace ballast::coordinator {

namespace {

/// Why the final parameters cannot be those of the run, if they cannot.
failure wrong_end(const coordinator_parts& p, const generation_state& members) {
  const worker_finished& first = members.finished.begin()->second;
  for (const auto& [who, other] : members.finished)
    if (other.weights_digest != first.weights_digest ||
        other.best_digest != first.best_digest || other.step != first.step)
      return {errc::digest_mismatch,
              "workers " + p.nodes.name_of(first.worker) + " and " +
                  p.nodes.name_of(who) + " end with different parameters",
              {}};
  if (members.commits.committed() != first.step)
    return {errc::internal,
            "the parameters contain steps up to " + to_string(first.step) +
                ", but only those up to " +
                to_string(members.commits.committed()) + " were reported",
            {}};
  const epoch_number last{p.run.spec.job.train.epochs};
  if (judge(p.run.spec.job).ends() && !first.stopped &&
      first.step < p.run.spec.end_of(last) && why_early(p).empty())
    return {errc::internal,
            "the workers ended after step " + to_string(first.step) +
                ", and no evaluation says why",
            {}};
  return {};
}

/// Those to ask next: all together, then each by itself. Nobody: all of them
/// were asked in vain.
std::vector<state_holder> next_asked(final_model& model,
                                     const std::vector<state_holder>& here) {
  if (here.size() > 1 && model.ask_together())
    return here;
  for (const state_holder& one : here)
    if (model.ask(one.who))
      return {one};
  return {};
}

/// A death meanwhile needs no other answer than the failure of the fetch.
void fetch_from_any(coordinator_parts& p, const std::string& problem) {
  const generation_state& members = *p.members.members();
  std::vector<state_holder> here;
  for (size_t rank = 0; rank < members.workers.size(); ++rank)
    if (p.nodes.connected(members.workers[rank]))
      here.push_back({members.workers[rank], members.data_addresses[rank]});
  std::vector<state_holder> asked = next_asked(p.run.model, here);
  if (!asked.empty()) {
    p.out.put(fetch_model{std::move(asked), p.run.model.digest(),
                          p.run.steps.last().step, judged_now(p).keep.step,
                          p.run.model.best_digest()});
    return;
  }
  std::string why =
      "no worker is left that the final model could be fetched from: " +
      problem;
  if (here.empty()) // but others will come, and do the last steps again
    return go_back(p, std::move(why));
  // Dead, and its connection not seen to close yet; or frozen, or cut off for
  // a while. The model is still in its memory.
  p.run.model.in_vain(std::move(why));
}

} // namespace

template <>
void on(coordinator_parts& p, const worker_finished& message, instant) {
  // Behind a fence they finish again, in the next generation.
  if (!p.members.member(message.worker, message.generation) ||
      (!p.members.in<opening>() && !p.members.in<training>()))
    return;
  generation_state& members = *p.members.members();
  members.finished[message.worker] = message;
  if (members.finished.size() < members.workers.size())
    return;
  if (failure wrong = wrong_end(p, members))
    return fail(p, std::move(wrong));
  const worker_finished first = members.finished.begin()->second;
  pending_plans* pending = p.members.pending();
  p.members.become(finishing{std::move(members),
                             pending ? std::move(*pending) : pending_plans{}});
  p.run.model.begin(first.weights_digest, first.best_digest);
  p.out.put(journal_commit{first.step, p.run.steps.last().epoch});
  p.out.put(write_workers{});
  // The copy of the state that a stopped run goes on from, then the model.
  fetch_copy(p);
  if (!p.run.copies.on_its_way())
    hand_over(p);
}

/// All have finished, and no copy of their state is under way.
void hand_over(coordinator_parts& p) {
  if (p.run.requests.parks() &&
      p.members.members()->finished.begin()->second.stopped)
    park(p);
  else
    fetch_from_any(p, "all of them are lost");
}

void ask_again_for_model(coordinator_parts& p, instant now) {
  const std::optional<model_search>& search = p.run.model.search();
  if (!p.members.in<finishing>() || !search || search->why.empty())
    return;
  if (search->until == instant{}) {
    p.run.model.wait(now + p.config.heartbeat,
                     now + std::chrono::seconds(p.run.spec.elastic().grace_s));
    p.say_waiting("the final model is fetched again: " + search->why);
  }
  if (now >= search->until)
    return fail(p, {errc::worker_lost, search->why, {}});
  if (now >= search->again)
    fetch_from_any(p, p.run.model.next_round(now + p.config.heartbeat));
}

namespace {

/// The newest checkpoint is not what was saved: the model is that of the one
/// before.
void pass_over_newest(coordinator_parts& p, const failure& why) {
  const std::string reason = "the checkpoint of step " +
                             to_string(p.run.copies.newest().step()) +
                             " cannot be read: " + why.message;
  p.out.put(refuse_checkpoint{p.run.copies.drop_newest(), why.message});
  const restart_point point = p.run.copies.newest();
  if (p.run.steps.last().step > point.step())
    p.out.put(undo_steps{point.step(), point.tally.last.epoch, reason});
  p.run.steps.go_back(point);
  p.members.become(waiting{});
  end_without_holders(p, reason);
}

/// That of a checkpoint.
void checkpoint_model_saved(coordinator_parts& p, std::string reason,
                            const saved_model& what) {
  // Beside it and the seed.
  const bool has_another = p.run.copies.points().size() > 2;
  if (what.problem.code == errc::invalid_data && has_another)
    return pass_over_newest(p, what.problem);
  if (what.problem)
    return fail(p,
                {what.problem.code, reason + ": " + what.problem.message, {}});
  if (!what.note.empty())
    reason += (reason.empty() ? "" : "; ") + what.note;
  finish(p, run_phase::stopped, p.run.requests.stop_code(), std::move(reason));
}

void workers_model_saved(coordinator_parts& p, bool cut,
                         const saved_model& what) {
  std::string reason = cut ? why_stopped(p) : why_early(p);
  if (!what.note.empty())
    reason += (reason.empty() ? "" : "; ") + what.note;
  finish(p, cut ? run_phase::stopped : run_phase::done,
         cut ? p.run.requests.stop_code() : 0, std::move(reason));
}

} // namespace

void on(coordinator_parts& p, const saved_model& what, instant) {
  const publishing* checkpoint = p.members.in<publishing>();
  const finishing* workers = p.members.in<finishing>();
  if (!checkpoint && !workers)
    return;
  if (workers && what.problem)
    return fetch_from_any(p, what.problem.message);
  if (!what.problem)
    p.run.model.saved(what.weights_sha256, value(what.step) > 0
                                               ? what.step
                                               : p.run.steps.last().step);
  if (checkpoint)
    checkpoint_model_saved(p, checkpoint->reason, what);
  else
    workers_model_saved(p, workers->members.finished.begin()->second.stopped,
                        what);
}

void end_without_holders(coordinator_parts& p, const std::string& reason) {
  const restart_point& point = p.run.copies.newest();
  const step_number undone = p.run.steps.undone();
  const bool in_vain = value(undone) > 0;
  std::string why = why_stopped(p);
  if (!reason.empty() && (in_vain || value(point.step()) > 0))
    why += "; " + reason;
  if (value(point.step()) > 0) {
    why += "; the model is that of step " + to_string(point.step()) +
           ", from its checkpoint";
    p.members.become(publishing{std::move(why)});
    p.out.put(write_workers{});
    p.out.put(publish_model{point.checkpoint, point.step(),
                            point.tally.judged.keep.step});
    return;
  }
  why += in_vain ? "; the steps up to " + to_string(undone) +
                       " are undone: no checkpoint holds any of them"
                 : " before the first step";
  finish(p, run_phase::stopped, p.run.requests.stop_code(), std::move(why));
}

void refuse_step(coordinator_parts& p, const worker_failed& message,
                 instant now) {
  if (p.run.suspects.refuse(message, now)) {
    const restart_point here = p.run.steps.here();
    if (next(here.step()) == message.step)
      p.run.copies.remember(here);
    fetch_copy(p);
  }
  conclude_refused(p, now);
}

void conclude_refused(coordinator_parts& p, instant now) {
  if (!p.run.suspects.refused() || !p.members.active())
    return;
  const refused_step refused = *p.run.suspects.refused();
  const generation_state* members = p.members.members();
  const restart_point& newest = p.run.copies.newest_on_disk();
  const bool named =
      !members || refused.sample_ids.size() >= members->workers.size();
  const bool saved = next(newest.step()) == refused.step;
  if ((!named || !saved) && now < refused.until)
    return;
  decltype(events::step_refused::samples) samples;
  for (const auto& [who, ids] : refused.sample_ids)
    samples.emplace_back(p.nodes.name_of(who), ids);
  std::string why = refused.why + "; the samples of the step are in "
                                  "events.jsonl";
  if (!newest.checkpoint.empty())
    why += saved ? ", the state before it in " : ", the newest checkpoint is ";
  why += newest.checkpoint;
  p.out.tell(events::step_refused{
      {refused.code, why, {}}, refused.step, std::move(samples)});
  p.run.suspects.forget_refused();
  finish(p, run_phase::failed, describe(refused.code).exit_code, why);
}

void fail(coordinator_parts& p, failure why) {
  if (!p.members.active())
    return;
  p.out.tell(events::error{why});
  const bool goes_on =
      why.code == errc::disk_full || why.code == errc::collective_failed;
  finish(p, run_phase::failed, describe(why.code).exit_code,
         std::move(why.message), goes_on);
}

void on(coordinator_parts& p, const outside_trouble& what, instant) {
  fail(p, what.why);
}

void finish(coordinator_parts& p, run_phase how, int exit_code,
            std::string reason, bool goes_on) {
  for (const auto& [who, why] : std::map(p.lost.open()))
    tell_loss(p, who, why.cause);
  p.run.steps.tell_untold(p.out);
  p.run.delay.over();
  p.config.ended_runs.insert(run_mark(p.config.token, p.run.spec.name));
  ended next{how, reason, exit_code, {}};
  if (generation_state* members = p.members.members())
    next.members = std::move(*members);
  p.members.become(std::move(next));
  p.out.put(write_workers{});
  if (p.members.members())
    p.command_all(how == run_phase::failed ? command_kind::abandon
                                           : command_kind::release,
                  reason);
  p.out.put(
      end_run{ballast::to_string(how), exit_code, std::move(reason), goes_on});
}

} // namespace ballast::coordinator
