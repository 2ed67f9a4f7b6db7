#include "runtime/coordinator/coordinator_status.hpp"

#include <algorithm>
#include <utility>

namespace ballast {

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

worker_standing standing_of(const coordinator_core& core, const node& who,
                            bool member) {
  if (!who.connected)
    return who.left ? worker_standing::left : worker_standing::lost;
  const auto& run = core.current();
  if (core.active() && run &&
      (who.about.not_for == run->name || who.held_back_until))
    return worker_standing::dismissed;
  if (core.active() && (who.about.leaving || core.leaving(who.id)))
    return worker_standing::draining;
  if (!member && core.active())
    return worker_standing::joining;
  switch (core.phase()) {
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
std::optional<worker_status::seconds> word_age(const coordinator_core& core,
                                               const node& who, instant now) {
  instant last =
      who.connected ? core.detector().last_word(who.id) : who.last_word;
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
ranks_by_id(const coordinator_core& core) {
  std::vector<std::pair<worker_id, size_t>> out;
  if (!core.current() || !core.current()->members)
    return out;
  for (worker_id who : core.current()->members->workers)
    out.emplace_back(who, out.size());
  std::sort(out.begin(), out.end());
  return out;
}

uint64_t sum_of_weights(const coordinator_core& core) {
  uint64_t out = 0;
  if (core.current() && core.current()->members)
    for (const share& one : core.current()->members->current.shares)
      out += one.batch_weight;
  return out;
}

std::optional<worker_status::part> part_of(const run& of, size_t rank,
                                           uint64_t weights) {
  const generation_state& members = *of.members;
  if (rank >= members.shares.size())
    return std::nullopt;
  worker_status::part out;
  out.rows_owned = members.shares[rank].rows_owned;
  out.skew_tv = members.shares[rank].skew_tv;
  if (weights > 0)
    out.batch = double(members.current.shares[rank].batch_weight) /
                double(weights) * double(of.what.train.global_batch);
  const auto& rates = of.balance.state.copy_bytes_per_s;
  if (rank < rates.size() && rates[rank] > 0)
    out.copy_bytes_per_s = rates[rank];
  return out;
}

std::vector<worker_status> workers_of(const coordinator_core& core,
                                      instant now) {
  std::vector<worker_status> out;
  out.reserve(core.nodes().size());
  const auto ranks = ranks_by_id(core);
  auto rank = ranks.begin();
  const auto ill = core.held_up().standing();
  auto trouble = ill.begin();
  const uint64_t weights = sum_of_weights(core);
  for (const auto& [id, who] : core.nodes()) {
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
    if (trouble != ill.end() && trouble->who == id)
      one.ill = {*trouble, now - trouble->since};
    if (!member)
      continue;
    one.rank = rank->second;
    one.samples_per_s = rate(core.current()->members->rates[rank->second]);
    one.share = part_of(*core.current(), rank->second, weights);
  }
  return out;
}

run_status::balancing balance_of(const run& of) {
  const balance_account& done = of.balance;
  const balance_spec asked = of.asked.balance_of(of.what);
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
          .moves_in_flight = of.transfer && !of.transfer->sent
                                 ? of.transfer->what.moves.size()
                                 : 0};
}

run_status::numbers numbers_of(const coordinator_core& core) {
  const run& of = *core.current();
  const uint64_t batch = of.what.train.global_batch;
  const uint64_t per_epoch = (of.set.train_rows + batch - 1) / batch;
  const bool moves = core.active() && core.phase() != run_phase::paused;
  run_status::numbers out;
  out.name = of.name;
  out.epochs = of.what.train.epochs;
  out.epoch = of.last.epoch;
  out.step = of.last.step;
  out.steps_total = per_epoch * of.what.train.epochs;
  out.samples = of.samples;
  out.loss = of.last.loss;
  out.samples_per_s = moves ? of.rate.per_s() : of.samples_per_s();
  if (of.transfer)
    out.moves = of.transfer->what.moves;
  out.balance = balance_of(of);
  if (of.members)
    out.members = {of.members->workers.size(), of.members->number,
                   of.members->current.number, of.members->collective};
  constexpr uint32_t told_after = opening_attempts::told_after;
  if (core.active() && (of.opening.failures() >= told_after ||
                        of.joining.failures() >= told_after))
    out.cannot_open = of.cannot_open;
  if (of.short_of_memory)
    out.lacks = of.short_of_memory->lacks;
  out.waits = of.waits;
  if (core.active())
    out.requests = {of.asked.paused, of.asked.stop.has_value()};
  if (of.test)
    out.test = {of.test->loss, {}};
  if (of.test && of.set.classes > 0)
    out.test->accuracy = of.test->accuracy;
  return out;
}

} // namespace

run_status status_of(const coordinator_core& core, instant now) {
  run_status out;
  out.state = core.phase();
  out.active = core.active();
  out.term = core.config().term;
  out.now = now;
  out.workers = workers_of(core, now);
  if (!core.current())
    return out;
  const run& of = *core.current();
  run_status::numbers& shown = out.run.emplace(numbers_of(core));
  for (const worker_status& one : out.workers)
    if (one.share)
      shown.skew_tv_max = std::max(shown.skew_tv_max, one.share->skew_tv);
  if (of.phase == run_phase::waiting)
    shown.waiting_for_workers =
        of.asked.workers_of(of.what).value_or(of.what.elastic.workers);
  if (of.phase == run_phase::recovering && of.short_of_workers)
    shown.waiting_for_workers = of.what.elastic.min_workers;
  // A recovery that waits for somebody is a wait to whoever looks.
  if (of.phase == run_phase::recovering &&
      (of.short_of_workers || of.short_of_memory || !of.waits.empty()))
    out.state = run_phase::waiting;
  if (!core.active()) {
    out.ended = run_status::ending{.exit_code = of.exit_code};
    if (of.phase == run_phase::failed)
      out.ended->error = of.reason;
  }
  return out;
}

} // namespace ballast
