#include "runtime/coordinator/status.hpp"

#include "runtime/coordinator/bound_words.hpp"
#include "runtime/coordinator/judging.hpp"
#include "runtime/ledger/step_takes.hpp"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace ballast::coordinator {

std::string to_string(worker_standing what) {
  switch (what) {
  case worker_standing::joining:
    return "joining";
  case worker_standing::training:
    return "training";
  case worker_standing::draining:
    return "draining";
  case worker_standing::dismissed:
    return "dismissed";
  case worker_standing::left:
    return "left";
  case worker_standing::lost:
    return "lost";
  }
  return "unknown";
}

namespace {

worker_standing standing_of(const coordinator_parts& core, const node& who,
                            bool member) {
  if (!who.connected)
    return who.left ? worker_standing::left : worker_standing::lost;
  if (core.members.active() &&
      (who.about.not_for == core.run.spec.name || who.held_back_until))
    return worker_standing::dismissed;
  if (core.members.active() &&
      (who.about.leaving || core.nodes.leaving(who.id)))
    return worker_standing::draining;
  if (!member && core.members.active())
    return worker_standing::joining;
  switch (core.members.phase()) {
  case run_phase::recovering:
  case run_phase::training:
  case run_phase::paused:
  case run_phase::finishing:
    return worker_standing::training;
  case run_phase::done:
  case run_phase::failed:
  case run_phase::stopped:
    return worker_standing::left;
  default:
    return worker_standing::joining;
  }
}

/// Since its last word.
std::optional<worker_status::seconds> word_age(const coordinator_parts& core,
                                               const node& who, instant now) {
  instant last =
      who.connected ? core.nodes.detector().last_word(who.id) : who.last_word;
  if (who.left || last == instant{})
    return std::nullopt;
  return now - last;
}

double rate(const progress_report& report) {
  uint64_t ns =
      report.data_ns + report.compute_ns + report.reduce_ns + report.apply_ns;
  return ns == 0 ? 0 : double(report.rows) * 1e9 / double(ns);
}

/// Its id and rank, by id: nodes are looked at in that order.
std::vector<std::pair<worker_id, size_t>>
ranks_by_id(const coordinator_parts& core) {
  std::vector<std::pair<worker_id, size_t>> out;
  if (const generation_state* members = core.members.members())
    for (worker_id who : members->workers)
      out.emplace_back(who, out.size());
  std::sort(out.begin(), out.end());
  return out;
}

/// Of the batch, by rank.
std::vector<uint64_t> parts_of(const coordinator_parts& core) {
  const generation_state* members = core.members.members();
  return members ? batch_parts(members->current, core.run.spec.leaves())
                 : std::vector<uint64_t>{};
}

std::optional<worker_status::part> part_of(const coordinator_parts& core,
                                           size_t rank,
                                           std::span<const uint64_t> parts,
                                           uint64_t parts_sum) {
  const generation_state& members = *core.members.members();
  if (rank >= members.shares.size())
    return std::nullopt;
  worker_status::part out;
  out.rows_owned = members.shares[rank].rows_owned;
  out.skew_tv = members.shares[rank].skew_tv;
  if (parts_sum > 0)
    out.batch =
        double(parts[rank]) / double(parts_sum) * double(core.run.spec.batch());
  const auto& rates = core.run.balance.account().state.copy_bytes_per_s;
  if (rank < rates.size() && rates[rank] > 0)
    out.copy_bytes_per_s = rates[rank];
  return out;
}

std::vector<worker_status> workers_of(const coordinator_parts& core,
                                      instant now) {
  std::vector<worker_status> out;
  out.reserve(core.nodes.all().size());
  const auto ranks = ranks_by_id(core);
  auto rank = ranks.begin();
  const auto ill = core.devices.standing();
  auto trouble = ill.begin();
  const std::vector<uint64_t> parts = parts_of(core);
  const uint64_t parts_sum =
      std::accumulate(parts.begin(), parts.end(), uint64_t{0});
  for (const auto& [id, who] : core.nodes.all()) {
    while (rank != ranks.end() && rank->first < id)
      ++rank;
    while (trouble != ill.end() && trouble->who < id)
      ++trouble;
    const bool member = rank != ranks.end() && rank->first == id;
    worker_status& one = out.emplace_back(
        worker_status{.name = who.about.name,
                      .incarnation = who.incarnation,
                      .pid = who.about.pid,
                      .host = who.about.host,
                      .device = who.about.device,
                      .metrics = who.about.metrics_address,
                      .start_ticks = who.about.start_ticks,
                      .boot_id = who.about.boot_id,
                      .state = standing_of(core, who, member),
                      .heartbeat_age = word_age(core, who, now)});
    if (who.connected)
      one.phase = who.last.phase;
    one.spent = core.run.time.of(id);
    if (trouble != ill.end() && trouble->who == id)
      one.ill = {*trouble, now - trouble->since};
    if (!member)
      continue;
    one.rank = rank->second;
    one.samples_per_s = rate(core.run.balance.newest(rank->second));
    one.share = part_of(core, rank->second, parts, parts_sum);
  }
  return out;
}

run_status::balancing balance_of(const coordinator_parts& core) {
  const run_state& of = core.run;
  const balance_account& done = of.balance.account();
  const pending_rebalance* transfer = core.members.transfer();
  const balance_spec asked = of.requests.standing().balance_of(of.spec.job);
  return {.enabled = asked.enabled,
          .skew_tv = asked.skew_tv,
          .code = done.state.code,
          .why = done.state.why,
          .would_change = done.state.would_change,
          .makespan_ratio = done.state.makespan_ratio,
          .plans = done.plans,
          .moved_rows = done.moved_rows,
          .moved_by_skew = done.moved_by_skew,
          .moved_by_coverage = done.moved_by_coverage,
          .moved_bytes = done.moved_bytes,
          .bound_rows = done.bound_rows,
          .moves_in_flight =
              transfer && !transfer->sent ? transfer->what.moves.size() : 0};
}

run_status::numbers numbers_of(const coordinator_parts& core) {
  const run_state& of = core.run;
  const run_tally& tally = of.steps.tally();
  const uint64_t epochs = of.spec.job.train.epochs;
  const uint64_t batch = of.spec.batch();
  const uint64_t per_epoch = (of.spec.set.train_rows + batch - 1) / batch;
  const bool moves =
      core.members.active() && core.members.phase() != run_phase::paused;
  run_status::numbers out;
  out.name = of.spec.name;
  out.epochs = epochs;
  out.epoch = tally.last.epoch;
  out.step = tally.last.step;
  out.steps_total = per_epoch * epochs;
  out.samples = tally.samples;
  out.loss = tally.last.loss;
  out.samples_per_s = moves ? of.steps.rate() : tally.samples_per_s();
  if (const pending_rebalance* transfer = core.members.transfer())
    out.moves = transfer->what.moves;
  out.balance = balance_of(core);
  out.checkpoint =
      of.cost.figures(of.spec.job.checkpoint, of.copies.newest_on_disk().step(),
                      of.copies.newest_in_memory());
  out.survived = of.steps.recoveries().size();
  if (const generation_state* members = core.members.members())
    out.members = {members->workers.size(), members->number,
                   members->current.number, members->collective};
  if (core.members.active() && of.links.to_show())
    out.cannot_open = of.links.cannot_open();
  if (core.members.shortage())
    out.lacks = core.members.shortage()->lacks;
  if (const auto bound = of.time.bound(); bound && core.members.active())
    out.bound =
        bound_words(*bound, bound->who ? core.nodes.name_of(*bound->who) : "");
  out.waits = of.delay.why();
  if (core.members.active())
    out.requests = {of.requests.paused(), of.requests.stops()};
  if (tally.test)
    out.test = {tally.test->loss, {}, tally.test->values};
  if (tally.test && of.spec.set.classes > 0)
    out.test->accuracy = tally.test->accuracy;
  const judge by(of.spec.job);
  const judgement judged = judged_now(core);
  if (by.best(judged).epoch > epoch_number{})
    out.best_test = {by.metric(), by.best(judged)};
  return out;
}

} // namespace

run_status status_of(const coordinator_parts& core, instant now) {
  run_status out;
  out.state = core.members.phase();
  out.term = core.config.term;
  out.now = now;
  out.workers = workers_of(core, now);
  if (core.members.in<idle>())
    return out;
  run_status::numbers& shown = out.run.emplace(numbers_of(core));
  for (const worker_status& one : out.workers)
    if (one.share)
      shown.skew_tv_max = std::max(shown.skew_tv_max, one.share->skew_tv);
  const job& what = core.run.spec.job;
  if (core.members.phase() == run_phase::waiting)
    shown.waiting_for_workers =
        core.run.requests.standing().workers_of(what).value_or(
            what.elastic.workers);
  const fenced* fence = core.members.in<fenced>();
  const bool too_few = fence && fence->short_of_workers;
  if (too_few)
    shown.waiting_for_workers = what.elastic.min_workers;
  // A recovery that waits for something is a wait to whoever looks.
  if (core.members.phase() == run_phase::recovering &&
      (too_few || shown.lacks || !shown.waits.empty()))
    out.state = run_phase::waiting;
  if (const ended* end = core.members.in<ended>()) {
    out.ended = run_status::ending{.exit_code = end->exit_code};
    if (end->how == run_phase::failed)
      out.ended->error = end->reason;
  }
  return out;
}

} // namespace ballast::coordinator
