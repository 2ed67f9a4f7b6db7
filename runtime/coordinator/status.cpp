#include "runtime/coordinator/status.hpp"

#include <algorithm>

namespace ballast {

namespace {

std::string worker_state(const coordinator_core& core, const node& who) {
  if (!who.connected)
    return who.left ? "left" : "lost";
  if (core.active() &&
      (who.about.not_for == core.run().spec.name || who.held_back_until))
    return "dismissed";
  if (core.active() && (who.about.leaving || core.nodes().leaving(who.id)))
    return "draining";
  if (core.active() && !core.members().member(who.id))
    return "joining";
  switch (core.phase()) {
  case run_phase::recovering:
  case run_phase::training:
  case run_phase::paused:
  case run_phase::finishing:
    return "training";
  case run_phase::done:
  case run_phase::failed:
  case run_phase::stopped:
    return "left";
  default:
    return "joining";
  }
}

nlohmann::json worker_json(const coordinator_core& core, const node& who) {
  nlohmann::json out{{"name", who.about.name},
                     {"incarnation", who.incarnation},
                     {"pid", who.about.pid},
                     {"host", who.about.host},
                     {"device", who.about.device},
                     {"rank", nullptr},
                     {"state", worker_state(core, who)},
                     {"metrics", who.about.metrics_address},
                     {"start_ticks", who.about.start_ticks},
                     {"boot_id", who.about.boot_id}};
  const generation_state* members = core.members().members();
  if (members && members->holds(who.id))
    out["rank"] = members->rank_of(who.id);
  return out;
}

nlohmann::json trouble_json(const stragglers::finding& what, const node& who,
                            instant now) {
  nlohmann::json out{
      {"causes", cause_names(what.what)},
      {"since_s", std::chrono::duration<double>(now - what.since).count()},
      {"slow", what.slow()},
      {"row_time_ratio", nullptr},
      {"reason", sentence(what, who.about.name, who.about.device)}};
  if (what.ratio > 0)
    out["row_time_ratio"] = what.ratio;
  return out;
}

/// Seconds since its last word; null for one that has left, or was never heard.
nlohmann::json word_age(const coordinator_core& core, const node& who,
                        instant now) {
  instant last =
      who.connected ? core.nodes().detector().last_word(who.id) : who.last_word;
  if (who.left || last == instant{})
    return nullptr;
  return std::chrono::duration<double>(now - last).count();
}

double rate(const progress_report& report) {
  uint64_t ns =
      report.data_ns + report.compute_ns + report.reduce_ns + report.apply_ns;
  return ns == 0 ? 0 : double(report.rows) * 1e9 / double(ns);
}

} // namespace

nlohmann::json workers_json(const coordinator_core& core) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [id, who] : core.nodes().all())
    list.push_back(worker_json(core, who));
  return {{"workers", list}};
}

namespace {

/// A worker's line of workers.json, and what changes all the time.
nlohmann::json status_line(const coordinator_core& core, const node& who,
                           const std::vector<stragglers::finding>& standing,
                           double weights, instant now) {
  nlohmann::json line = worker_json(core, who);
  line["heartbeat_age_s"] = word_age(core, who, now);
  if (who.connected)
    line["phase"] = to_string(who.last.phase);
  for (const stragglers::finding& one : standing)
    if (one.who == who.id)
      line["trouble"] = trouble_json(one, who, now);
  if (line["rank"].is_null())
    return line;
  const size_t rank = line["rank"];
  const generation_state& members = *core.members().members();
  const rebalance& balance = core.run().balance;
  line["samples_per_s"] = rate(balance.newest(rank));
  if (rank >= members.shares.size())
    return line;
  line["rows_owned"] = members.shares[rank].rows_owned;
  line["skew_tv"] = members.shares[rank].skew_tv;
  const auto& rates = balance.account().state.copy_bytes_per_s;
  if (rank < rates.size() && rates[rank] > 0)
    line["copy_bytes_per_s"] = rates[rank];
  double part = double(members.current.shares[rank].batch_weight);
  line["batch"] =
      weights == 0 ? 0 : part / weights * double(core.run().spec.batch());
  return line;
}

void add_progress(nlohmann::json& out, const coordinator_core& core) {
  const run_state& run = core.run();
  const run_tally& tally = run.steps.tally();
  const uint64_t batch = run.spec.batch();
  uint64_t per_epoch = (run.spec.set.train_rows + batch - 1) / batch;
  out["run"] = run.spec.name;
  out["epochs"] = run.spec.job.train.epochs;
  out["epoch"] = value(tally.last.epoch);
  out["step"] = value(tally.last.step);
  out["steps_total"] = per_epoch * run.spec.job.train.epochs;
  out["samples"] = tally.samples;
  out["loss"] =
      tally.samples == 0 ? nlohmann::json() : nlohmann::json(tally.last.loss);
  bool moves = core.active() && core.phase() != run_phase::paused;
  out["samples_per_s"] = moves ? run.steps.rate() : tally.samples_per_s();
  if (tally.test)
    out["test_loss"] = tally.test->loss;
  if (tally.test && run.spec.set.classes > 0)
    out["test_accuracy"] = tally.test->accuracy;
}

void add_balance(nlohmann::json& out, const coordinator_core& core) {
  const run_state& run = core.run();
  double skew_max = 0;
  if (const generation_state* members = core.members().members())
    for (size_t rank = 0;
         rank < members->shares.size() && rank < members->workers.size();
         ++rank)
      if (core.nodes().contains(members->workers[rank]))
        skew_max = std::max(skew_max, members->shares[rank].skew_tv);
  out["skew_tv_max"] = skew_max;
  if (const shard_transfer* transfer = core.members().transfer())
    for (const shard_move& one : transfer->what.moves)
      out["moves"].push_back({{"chunk", value(one.what.chunk)},
                              {"rows", rows(one.what)},
                              {"from", one.from},
                              {"to", one.to}});
  const balance_account& done = run.balance.account();
  balance_spec asked = run.requests.standing().balance_of(run.spec.job);
  out["balance"] = {{"enabled", asked.enabled},
                    {"skew_tv", asked.skew_tv},
                    {"code", to_string(done.state.code)},
                    {"why", done.state.why},
                    {"would_change", done.state.would_change},
                    {"makespan_ratio", done.state.makespan_ratio},
                    {"plans", done.plans},
                    {"moved_samples", done.moved_rows},
                    {"moved_bytes", done.moved_bytes},
                    {"moved_bound_samples", done.bound_rows}};
}

void add_members(nlohmann::json& out, const coordinator_core& core) {
  const generation_state* members = core.members().members();
  if (!members)
    return;
  out["world"] = members->workers.size();
  out["generation"] = value(members->number);
  out["plan"] = value(members->current.number);
  const nlohmann::ordered_json sums = collective_fields(members->collective);
  for (const auto& [key, field] : sums.items())
    out[key] = field;
}

/// Why it does not go on, if it does not.
void add_waiting(nlohmann::json& out, const coordinator_core& core) {
  const run_state& run = core.run();
  const job& what = run.spec.job;
  const bool recovers = core.phase() == run_phase::recovering;
  const std::string waits = to_string(run_phase::waiting);
  if (core.phase() == run_phase::waiting)
    out["waiting_for_workers"] =
        run.requests.standing().workers_of(what).value_or(what.elastic.workers);
  const fenced* s = core.members().in<fenced>();
  if (s && s->short_of_workers) {
    out["state"] = waits;
    out["waiting_for_workers"] = what.elastic.min_workers;
  }
  if (core.active() && run.links.to_show())
    out["cannot_open"] = run.links.cannot_open();
  if (core.members().shortage()) {
    const memory_need& lacks = core.members().shortage()->lacks;
    out["waiting_for_memory"] = {{"lacking_bytes", lacks.lacking_bytes},
                                 {"free_bytes", lacks.free_bytes}};
    if (recovers)
      out["state"] = waits;
  }
  if (!run.delay.why().empty()) {
    out["state"] = recovers ? waits : to_string(core.phase());
    out["waits"] = run.delay.why();
  }
}

} // namespace

nlohmann::json status_json(const coordinator_core& core, instant now) {
  nlohmann::json out{{"run", nullptr},
                     {"state", to_string(core.phase())},
                     {"term", value(core.config().term)},
                     {"t_ns", now.count()}, // as in events.jsonl
                     {"moves", nlohmann::json::array()},
                     {"error", nullptr}};
  double weights = 0;
  if (const generation_state* members = core.members().members())
    for (const share& one : members->current.shares)
      weights += double(one.batch_weight);
  const std::vector<stragglers::finding> standing = core.devices().standing();
  nlohmann::json list = nlohmann::json::array();
  for (const auto& [id, who] : core.nodes().all())
    list.push_back(status_line(core, who, standing, weights, now));
  out["workers"] = std::move(list);
  if (core.members().in<idle>())
    return out;
  add_progress(out, core);
  add_balance(out, core);
  add_members(out, core);
  add_waiting(out, core);
  if (core.active())
    out["requests"] = {{"paused", core.run().requests.paused()},
                       {"stop", core.run().requests.stops()}};
  const ended* end = core.members().in<ended>();
  if (end && end->how == run_phase::failed)
    out["error"] = end->reason;
  if (end)
    out["exit_code"] = end->exit_code;
  return out;
}

} // namespace ballast
