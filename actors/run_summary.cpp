#include "actors/run_summary.hpp"

#include "runtime/coordinator/judging.hpp"

#include <algorithm>

namespace ballast::actors {

namespace {

monitor::importance_result result_of(const coordinator::drawn_tally& drawn) {
  const double steps = double(std::max<uint64_t>(drawn.steps, 1));
  return {drawn.worker_steps, drawn.steps, double(drawn.rows) / steps,
          double(drawn.gradient_rows) / steps, 0};
}

} // namespace

monitor::run_report summary_of(const coordinator::coordinator_parts& core,
                               const coordinator::end_run& how) {
  const coordinator::run_state& run = core.run;
  const coordinator::run_tally& tally = run.steps.tally();
  const coordinator::balance_account& balance = run.balance.account();
  const coordinator::generation_state* members = core.members.members();
  monitor::run_report out;
  out.state = how.state;
  out.epochs = run.spec.job.train.epochs;
  out.steps = value(tally.last.step);
  out.samples = tally.samples;
  out.reason = how.reason;
  for (const auto& [reason, ms] : run.steps.recoveries())
    out.recoveries.push_back({reason, ms});
  if (tally.samples > 0) {
    out.samples_per_s = double(tally.samples_per_s());
    out.train_loss = tally.train_loss;
  }
  if (tally.test)
    out.test_loss = tally.test->loss;
  if (tally.test && run.spec.set.classes > 0)
    out.test_accuracy = tally.test->accuracy;
  if (tally.test)
    out.test_values = tally.test->values;
  if (const auto time = run.time.settled().of_all(); time.total() > instant{})
    out.time = time;
  out.generations = members ? value(members->number) : 0;
  out.moved_samples = balance.moved_rows;
  out.moved_bytes = balance.moved_bytes;
  out.moved_bound_samples = balance.bound_rows;
  if (members && !members->shares.empty()) {
    double skew = 0;
    for (const share_summary& one : members->shares)
      skew = std::max(skew, one.skew_tv);
    out.skew_tv_start = balance.skew_start.value_or(skew);
    out.skew_tv_max = skew;
  }
  if (tally.samples > 0)
    out.lineage = ledger::lineage_text(tally.lineage);
  if (run.spec.job.train.importance.by != importance_score::none)
    out.importance = result_of(tally.drawn);
  if (!run.model.sha256().empty())
    out.weights_sha256 = run.model.sha256();
  if (value(run.model.step()) > 0)
    out.model_step = value(run.model.step());
  const judge by(run.spec.job);
  const judgement judged = coordinator::judged_now(core);
  const best_so_far& best = by.best(judged);
  if (best.epoch > epoch_number{})
    out.best = {by.metric(), value(best.epoch), value(best.step), best.value};
  return out;
}

} // namespace ballast::actors
