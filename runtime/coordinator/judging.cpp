#include "runtime/coordinator/judging.hpp"

#include "runtime/coordinator/transitions.hpp"

#include <algorithm>

namespace ballast::coordinator {

judgement judged_at(const coordinator_parts& p, step_number base) {
  const judge by(p.run.spec.job);
  const run_tally& tally = p.run.steps.tally();
  judgement out = tally.judged;
  for (const evaluation_report& one : tally.unjudged)
    if (const step_number end = p.run.spec.end_of(one.epoch); end <= base)
      by.hear(out, one, end);
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
  const step_number end = spec.end_of(report.epoch);
  const bool last = value(report.epoch) == spec.job.train.epochs;
  events::evaluated told{report.epoch, report.loss, report.rows,
                         std::chrono::nanoseconds(report.wall_ns)};
  if (spec.set.classes > 0)
    told.accuracy = report.accuracy;
  told.values = report.values;
  told.best = by.hear(so_far, report, end);
  // What decides is told without exception: the next coordinator judges by it.
  p.run.steps.tell_thinned(p.out, told, last || by.judges(),
                           std::max(p.ticked, instant{0}));
  if (const std::string why = by.over(so_far); !why.empty() && !last)
    p.out.tell(events::ends_early{report.epoch, end, why});
  if (!by.judges())
    return;
  p.run.copies.evaluated(report, end, by);
  fetch_copy(p);
}

step_number judged_up_to(const coordinator_parts& p) {
  const run_tally& tally = p.run.steps.tally();
  const uint64_t ended = value(tally.last.epoch) - 1;
  if (!judge(p.run.spec.job).judges() || value(tally.last.step) == 0 ||
      ended == 0 || (tally.test && value(tally.test->epoch) >= ended))
    return tally.last.step;
  return p.run.spec.end_of(epoch_number{ended});
}

std::string why_early(const coordinator_parts& p) {
  const bool early =
      value(p.run.steps.last().epoch) < p.run.spec.job.train.epochs;
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
  return is_out_of_time(p) ? "stopped: stop.max_minutes of training are over"
                           : "stopped";
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
