#include "runtime/coordinator/coordinator_status.hpp"

#include <algorithm>

namespace ballast {

namespace {

std::string worker_state(const coordinator_core& core, const node& who) {
  if (!who.connected)
    return who.left ? "left" : "lost";
  const auto& run = core.current();
  bool member = run && run->members &&
                std::count(run->members->workers.begin(),
                           run->members->workers.end(), who.id) > 0;
  if (core.active() && run &&
      (who.about.not_for == run->name || who.held_back_until))
    return "dismissed";
  if (core.active() && (who.about.leaving || core.leaving(who.id)))
    return "draining";
  if (!member && core.active())
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
  const auto& run = core.current();
  if (!run || !run->members)
    return out;
  const auto& workers = run->members->workers;
  auto place = std::find(workers.begin(), workers.end(), who.id);
  if (place != workers.end())
    out["rank"] = place - workers.begin();
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
      who.connected ? core.detector().last_word(who.id) : who.last_word;
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
  for (const auto& [id, who] : core.nodes())
    list.push_back(worker_json(core, who));
  return {{"workers", list}};
}

nlohmann::json status_json(const coordinator_core& core, instant now) {
  nlohmann::json out{{"run", nullptr},
                     {"state", to_string(core.phase())},
                     {"term", value(core.config().term)},
                     {"t_ns", now.count()}, // as in events.jsonl
                     {"moves", nlohmann::json::array()},
                     {"error", nullptr}};
  const auto& run = core.current();
  nlohmann::json list = nlohmann::json::array();
  double skew_max = 0;
  const std::vector<stragglers::finding> standing = core.held_up().standing();
  double weights = 0;
  if (run && run->members)
    for (const share& one : run->members->current.shares)
      weights += double(one.batch_weight);
  for (const auto& [id, who] : core.nodes()) {
    nlohmann::json line = worker_json(core, who);
    line["heartbeat_age_s"] = word_age(core, who, now);
    if (who.connected)
      line["phase"] = to_string(who.last.phase);
    for (const stragglers::finding& one : standing)
      if (one.who == id)
        line["trouble"] = trouble_json(one, who, now);
    if (!line["rank"].is_null()) {
      size_t rank = line["rank"];
      const generation_state& members = *run->members;
      line["samples_per_s"] = rate(members.rates[rank]);
      if (rank < members.shares.size()) {
        line["rows_owned"] = members.shares[rank].rows_owned;
        line["skew_tv"] = members.shares[rank].skew_tv;
        const auto& rates = run->balance.state.copy_bytes_per_s;
        if (rank < rates.size() && rates[rank] > 0)
          line["copy_bytes_per_s"] = rates[rank];
        skew_max = std::max(skew_max, members.shares[rank].skew_tv);
        double part = double(members.current.shares[rank].batch_weight);
        line["batch"] = weights == 0 ? 0
                                     : part / weights *
                                           double(run->what.train.global_batch);
      }
    }
    list.push_back(std::move(line));
  }
  out["workers"] = std::move(list);
  if (!run)
    return out;
  uint64_t batch = run->what.train.global_batch;
  uint64_t per_epoch = (run->set.train_rows + batch - 1) / batch;
  out["run"] = run->name;
  out["epochs"] = run->what.train.epochs;
  out["epoch"] = value(run->last.epoch);
  out["step"] = value(run->last.step);
  out["steps_total"] = per_epoch * run->what.train.epochs;
  out["samples"] = run->samples;
  out["loss"] =
      run->samples == 0 ? nlohmann::json() : nlohmann::json(run->last.loss);
  bool moves = core.active() && core.phase() != run_phase::paused;
  out["samples_per_s"] = moves ? run->rate.per_s() : run->samples_per_s();
  out["skew_tv_max"] = skew_max;
  if (run->transfer)
    for (const shard_move& one : run->transfer->what.moves)
      out["moves"].push_back({{"chunk", value(one.what.chunk)},
                              {"rows", rows(one.what)},
                              {"from", one.from},
                              {"to", one.to}});
  const balance_account& done = run->balance;
  balance_spec asked = run->asked.balance_of(run->what);
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
  if (run->members) {
    out["world"] = run->members->workers.size();
    out["generation"] = value(run->members->number);
    out["plan"] = value(run->members->current.number);
    const collective_choice& sums = run->members->collective;
    out["collective"] = sums.name;
    if (!sums.reason.empty())
      out["collective_reason"] = sums.reason;
  }
  if (run->phase == run_phase::waiting)
    out["waiting_for_workers"] =
        run->asked.workers_of(run->what).value_or(run->what.elastic.workers);
  if (run->phase == run_phase::recovering && run->short_of_workers) {
    out["state"] = to_string(run_phase::waiting);
    out["waiting_for_workers"] = run->what.elastic.min_workers;
  }
  constexpr uint32_t told_after = opening_attempts::told_after;
  if (core.active() && (run->opening.failures() >= told_after ||
                        run->joining.failures() >= told_after))
    out["cannot_open"] = run->cannot_open;
  if (run->short_of_memory) {
    const memory_need& lacks = run->short_of_memory->lacks;
    out["waiting_for_memory"] = {{"lacking_bytes", lacks.lacking_bytes},
                                 {"free_bytes", lacks.free_bytes}};
    if (run->phase == run_phase::recovering)
      out["state"] = to_string(run_phase::waiting);
  }
  if (!run->waits.empty()) {
    out["state"] =
        to_string(core.phase() == run_phase::recovering ? run_phase::waiting
                                                        : core.phase());
    out["waits"] = run->waits;
  }
  if (core.active())
    out["requests"] = {{"paused", run->asked.paused},
                       {"stop", run->asked.stop.has_value()}};
  if (run->test)
    out["test_loss"] = run->test->loss;
  if (run->test && run->set.classes > 0)
    out["test_accuracy"] = run->test->accuracy;
  if (run->phase == run_phase::failed)
    out["error"] = run->reason;
  if (!core.active())
    out["exit_code"] = run->exit_code;
  return out;
}

} // namespace ballast
