#include "runtime/coordinator/judging.hpp"

#include "runtime/base/number_text.hpp"
#include "runtime/coordinator/transitions.hpp"

#include <algorithm>

namespace ballast::coordinator {

judgement judged_at(const coordinator_parts& p, step_number base) {
  const judge by(p.run.spec.job);
  const run_tally& tally = p.run.steps.tally();
  judgement out = tally.judged;
  for (const evaluation_report& one : tally.unjudged)
    if (one.step <= base)
      by.hear(out, one);
  return out;
}

judgement judged_now(const coordinator_parts& p) {
  return judged_at(p, p.run.steps.last().step);
}

void note_evaluation(coordinator_parts& p, const evaluation_report& report) {
  const run_spec& spec = p.run.spec;
  const judge by(spec.job);
  judgement so_far = judged_at(p, step_number{UINT64_MAX});
  if (!p.run.steps.evaluated(report))
    return;
  const bool last =
      report.step == spec.end_of(epoch_number{spec.job.train.epochs});
  events::evaluated told{report.epoch, report.step, report.loss, report.rows,
                         std::chrono::nanoseconds(report.wall_ns)};
  if (spec.set.classes > 0)
    told.accuracy = report.accuracy;
  told.values = report.values;
  told.best = by.hear(so_far, report);
  // What decides is told without exception: the next coordinator judges by it.
  p.run.steps.tell_thinned(p.out, told, last || by.judges(),
                           std::max(p.ticked, instant{0}));
  if (const std::string why = by.over(so_far); !why.empty() && !last)
    p.out.tell(events::ends_early{report.epoch, report.step, why});
  if (!by.judges())
    return;
  p.run.copies.evaluated(report, by);
  fetch_copy(p);
}

step_number judged_up_to(const coordinator_parts& p) {
  const run_tally& tally = p.run.steps.tally();
  const step_number last = tally.last.step;
  const step_number due = p.run.spec.evaluations().newest_before(last);
  if (!judge(p.run.spec.job).judges() || due == step_number{} ||
      (tally.test && tally.test->step >= due))
    return last;
  return due;
}

std::string why_early(const coordinator_parts& p) {
  const epoch_number end{p.run.spec.job.train.epochs};
  const bool early = p.run.steps.last().step < p.run.spec.end_of(end);
  return early ? judge(p.run.spec.job).over(judged_now(p)) : "";
}

namespace {

/// Of steps: evaluations and failures are not included.
bool is_out_of_time(const coordinator_parts& p) {
  const std::optional<double>& minutes = p.run.spec.job.stop.max_minutes;
  return minutes && double(p.run.steps.tally().timed_ns) >= *minutes * 60e9;
}

} // namespace

std::string why_stopped(const coordinator_parts& p) {
  if (!is_out_of_time(p))
    return "stopped";
  return "stopped: the " +
         four_digits(p.run.spec.job.stop.max_minutes.value_or(0)) +
         " minutes of training of stop.max_minutes are over";
}

void stop_in_time(coordinator_parts& p) {
  if (!p.members.in<training>() || p.run.requests.stops() || !is_out_of_time(p))
    return;
  const ledger::committed_step& last = p.run.steps.last();
  p.out.tell(events::ends_early{last.epoch, last.step, why_stopped(p)});
  p.run.requests.stop(p.out, false);
  p.command_all(command_kind::stop, "stop.max_minutes");
}

} // namespace ballast::coordinator
