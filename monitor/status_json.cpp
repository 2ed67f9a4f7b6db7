#include "monitor/status_json.hpp"

#include "monitor/logs/event_text.hpp"
#include "monitor/spent_time_json.hpp"

#include <nlohmann/json.hpp>

namespace ballast::monitor {

namespace {

using nlohmann::json;

template <class T>
json null_or(const std::optional<T>& what) {
  return what ? json(*what) : json();
}

json identity_json(const coordinator::worker_status& of) {
  return {{"name", of.name},
          {"incarnation", of.incarnation},
          {"pid", of.pid},
          {"host", of.host},
          {"device", of.device},
          {"rank", null_or(of.rank)},
          {"state", to_string(of.state)},
          {"metrics", of.metrics},
          {"start_ticks", of.start_ticks},
          {"boot_id", of.boot_id}};
}

json trouble_json(const coordinator::worker_status& of) {
  const coordinator::stragglers::finding& ill = of.ill->what;
  json out{{"causes", cause_names(ill.what)},
           {"since_s", of.ill->since.count()},
           {"slow", ill.slow()},
           {"row_time_ratio", nullptr},
           {"reason", sentence(ill, of.name, of.device)}};
  if (ill.ratio > 0)
    out["row_time_ratio"] = ill.ratio;
  return out;
}

json worker_json(const coordinator::worker_status& of) {
  json out = identity_json(of);
  out["heartbeat_age_s"] =
      of.heartbeat_age ? json(of.heartbeat_age->count()) : json();
  if (of.phase)
    out["phase"] = to_string(*of.phase);
  if (of.ill)
    out["trouble"] = trouble_json(of);
  if (of.rank)
    out["samples_per_s"] = of.samples_per_s;
  if (of.spent)
    out["time_s"] = to_json(*of.spent);
  if (!of.share)
    return out;
  out["rows_owned"] = of.share->rows_owned;
  out["skew_tv"] = of.share->skew_tv;
  out["batch"] = of.share->batch;
  if (of.share->copy_bytes_per_s)
    out["copy_bytes_per_s"] = *of.share->copy_bytes_per_s;
  return out;
}

json balance_json(const coordinator::run_status::balancing& of) {
  return {{"enabled", of.enabled},
          {"skew_tv", of.skew_tv},
          {"code", to_string(of.code)},
          {"why", of.why},
          {"would_change", of.would_change},
          {"makespan_ratio", of.makespan_ratio},
          {"plans", of.plans},
          {"moved_samples", of.moved_rows},
          {"moved_bytes", of.moved_bytes},
          {"moved_bound_samples", of.bound_rows}};
}

json plan_json(const coordinator::checkpoint_figures::plan& of) {
  return {{"interval_s", of.interval_s},
          {"pause_ratio", of.pause_ratio},
          {"lost_s", of.lost_s},
          {"waste_ratio", of.waste_ratio}};
}

json checkpoint_json(const coordinator::run_status::numbers& run) {
  const coordinator::checkpoint_figures& of = run.checkpoint;
  const step_number in_memory = of.in_memory.value_or(step_number{});
  json out{
      {"step", value(of.newest) == 0 ? json() : json(value(of.newest))},
      {"memory_step", value(in_memory) == 0 ? json() : json(value(in_memory))},
      {"step_s", null_or(of.step_s)},
      {"trained_s", of.trained_s},
      {"failures_survived", run.survived},
      {"failures_undone", of.undone},
      {"mttf_s", of.mttf_s},
      {"mttf_assumed", of.assumed},
      {"pause_s", nullptr},
      {"saved_s", nullptr},
      {"now", nullptr},
      {"best", nullptr},
      {"advice", nullptr}};
  if (!of.cost)
    return out;
  out["pause_s"] = of.cost->pause_s;
  out["saved_s"] = of.cost->saved_s;
  out["now"] = plan_json(of.cost->now);
  out["best"] = plan_json(of.cost->best);
  out["advice"] = {{"every_steps", of.cost->advice.every_steps},
                   {"every_s", of.cost->advice.every_s}};
  if (of.in_memory)
    out["advice"]["memory_every_s"] =
        of.cost->advice.memory_every_s.value_or(0);
  return out;
}

void add_members(json& out, const coordinator::run_status::membership& of) {
  out["world"] = of.world;
  out["generation"] = value(of.generation);
  out["plan"] = value(of.plan);
  out["collective"] = of.collective.name;
  if (!of.collective.reason.empty())
    out["collective_reason"] = of.collective.reason;
}

void add_run(json& out, const coordinator::run_status::numbers& of) {
  out["run"] = of.name;
  out["epochs"] = of.epochs;
  out["epoch"] = value(of.epoch);
  out["step"] = value(of.step);
  out["steps_total"] = of.steps_total;
  out["samples"] = of.samples;
  out["loss"] = of.samples == 0 ? json() : json(of.loss);
  out["samples_per_s"] = of.samples_per_s;
  out["skew_tv_max"] = of.skew_tv_max;
  for (const balance::shard_move& one : of.moves)
    out["moves"].push_back({{"chunk", value(one.what.chunk)},
                            {"rows", rows(one.what)},
                            {"from", one.from},
                            {"to", one.to}});
  out["balance"] = balance_json(of.balance);
  out["checkpoint"] = checkpoint_json(of);
  if (of.members)
    add_members(out, *of.members);
  if (of.waiting_for_workers)
    out["waiting_for_workers"] = *of.waiting_for_workers;
  if (of.cannot_open)
    out["cannot_open"] = *of.cannot_open;
  if (of.lacks)
    out["waiting_for_memory"] = {{"lacking_bytes", of.lacks->lacking_bytes},
                                 {"free_bytes", of.lacks->free_bytes}};
  if (!of.bound.empty())
    out["bound"] = of.bound;
  if (!of.waits.empty())
    out["waits"] = of.waits;
  if (of.requests)
    out["requests"] = {{"paused", of.requests->paused},
                       {"stop", of.requests->stop}};
  if (of.best_test)
    out["best"] = {{"metric", of.best_test->metric},
                   {"value", of.best_test->what.value},
                   {"epoch", value(of.best_test->what.epoch)},
                   {"step", value(of.best_test->what.step)}};
  if (of.test)
    out["test_loss"] = of.test->loss;
  if (of.test && of.test->accuracy)
    out["test_accuracy"] = *of.test->accuracy;
  if (of.test) {
    nlohmann::ordered_json values = nlohmann::ordered_json::object();
    metrics::add_values(values, "test_", of.test->values);
    for (const auto& [key, value] : values.items())
      out[key] = value;
  }
}

} // namespace

json workers_json(const coordinator::run_status& of) {
  json list = json::array();
  for (const coordinator::worker_status& one : of.workers)
    list.push_back(identity_json(one));
  return {{"workers", list}};
}

json status_json(const coordinator::run_status& of) {
  json out{
      {"run", nullptr},
      {"state", ballast::to_string(of.state)},
      {"term", value(of.term)},
      {"t_ns", of.now.count()}, // as in events.jsonl
      {"moves", json::array()},
      {"error", nullptr},
      {"trouble", of.disk_trouble.empty() ? json() : json(of.disk_trouble)}};
  json list = json::array();
  for (const coordinator::worker_status& one : of.workers)
    list.push_back(worker_json(one));
  out["workers"] = std::move(list);
  if (of.run)
    add_run(out, *of.run);
  if (of.run && of.copied)
    out["checkpoint"].update(
        {{"copy_to", of.copied->to},
         {"copied_step",
          value(of.copied->step) == 0 ? json() : json(value(of.copied->step))},
         {"copy_trouble",
          of.copied->trouble.empty() ? json() : json(of.copied->trouble)}});
  if (of.preparing) {
    out["preparing"] = {{"done", of.preparing->done}};
    if (of.preparing->left_s)
      out["preparing"]["left_s"] = *of.preparing->left_s;
  }
  if (of.ended) {
    out["exit_code"] = of.ended->exit_code;
    if (!of.ended->reason.empty())
      out["reason"] = of.ended->reason;
    if (of.ended->error)
      out["error"] = *of.ended->error;
  }
  return out;
}

} // namespace ballast::monitor
