#include "monitor/logs/event_text.hpp"

#include "monitor/logs/file_event_text.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/json_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

namespace ballast::monitor {

namespace {

namespace events = coordinator::events;
using ordered_json = nlohmann::ordered_json;

std::string whole_seconds(std::chrono::nanoseconds span) {
  return std::to_string(
             std::chrono::duration_cast<std::chrono::seconds>(span).count()) +
         " s";
}

// -- parts of lines ----------------------------------------------------------

ordered_json process(const events::worker_process& of) {
  return {{"worker", of.worker},
          {"incarnation", of.incarnation},
          {"pid", of.pid},
          {"host", of.host}};
}

/// Behind the others, without the search for an equal key that an ordered
/// object makes for each: names differ, and there may be a thousand.
void append(ordered_json& object, const std::string& name, ordered_json what) {
  object.get_ref<ordered_json::object_t&>().emplace_back(name, std::move(what));
}

/// `skew_tv_max`, and by name `skew_tv`, `rows` and `batch`.
ordered_json shares_of(const std::vector<coordinator::worker_share>& all) {
  double worst = 0;
  ordered_json skew = ordered_json::object();
  ordered_json rows = skew;
  ordered_json batch = skew;
  for (const coordinator::worker_share& one : all) {
    worst = std::max(worst, one.skew_tv);
    append(skew, one.worker, one.skew_tv);
    append(rows, one.worker, one.rows);
    append(batch, one.worker, one.batch);
  }
  return {{"skew_tv_max", worst},
          {"skew_tv", std::move(skew)},
          {"rows", std::move(rows)},
          {"batch", std::move(batch)}};
}

ordered_json error_fields(const failure& why) {
  return {{"code", to_string(why.code)},
          {"message", why.message},
          {"pointer", why.pointer}};
}

struct generation_reason {
  std::string operator()(const events::generation_begun::first&) const {
    return "start";
  }
  std::string
  operator()(const events::generation_begun::from_checkpoint& one) const {
    return "checkpoint of step " + to_string(one.of);
  }
  std::string operator()(const events::generation_begun::switched& one) const {
    return one.leave ? "leave" : "join";
  }
  std::string operator()(const events::generation_begun::recovered& one) const {
    return coordinator::describe(one.reason);
  }
};

ordered_json phases_of(const events::generation_begun::recovered& how) {
  return {
      {"detect", how.detect.count()}, {"fence", how.fence.count()},
      {"plan", how.plan.count()},     {"open", how.open.count()},
      {"sync", how.sync.count()},     {"first_step", how.first_step.count()}};
}

// -- one line for each kind of event -----------------------------------------

event_text line(const events::coordinator_started& e) {
  ordered_json out{{"term", value(e.term)}, {"run", e.run}, {"build", e.build}};
  if (e.resumed)
    out.update({{"resumed", true},
                {"step", value(e.resumed->step)},
                {"checkpoint", value(e.resumed->checkpoint)}});
  return {"coordinator_started", std::move(out)};
}

event_text line(const events::waiting& e) {
  return {"waiting",
          {{"workers", e.workers},
           {"min_workers", e.min_workers},
           {"step", value(e.step)},
           {"reason", e.reason}}};
}

event_text line(const events::waiting_for_memory& e) {
  return {"waiting",
          {{"workers", e.workers},
           {"lacking_bytes", e.lacks.lacking_bytes},
           {"free_bytes", e.lacks.free_bytes},
           {"reason", e.reason}}};
}

event_text line(const events::window_chosen& e) {
  return {"window",
          {{"window_chunks", e.window_chunks},
           {"lacking_bytes", e.lacks.lacking_bytes},
           {"free_bytes", e.lacks.free_bytes}}};
}

event_text line(const events::spares& e) {
  return {"spares", {{"workers", e.workers}, {"leaves", e.leaves}}};
}

event_text line(const events::paused& e) {
  return {"paused", {{"step", value(e.step)}}};
}

event_text line(const events::resumed& e) {
  ordered_json out{{"step", value(e.step)}};
  if (e.by_takeover)
    out["reason"] = "the run is resumed by its user";
  return {"resumed", std::move(out)};
}

event_text line(const events::scaled& e) {
  return {"scale", {{"workers", e.workers}}};
}

event_text line(const events::balance_set& e) {
  return {"set_balance", {{"enabled", e.enabled}, {"skew_tv", e.skew_tv}}};
}

event_text line(const events::fault_injected& e) {
  return {"fault",
          {{"worker", e.worker},
           {"what", to_string(e.what)},
           {"amount", e.amount}}};
}

event_text line(const events::noted& e) {
  return {"note", {{"text", e.text}}};
}

event_text line(const events::epoch_ended& e) {
  return {"epoch",
          {{"epoch", value(e.epoch)},
           {"step", value(e.step)},
           {"samples", e.samples},
           {"train_loss", e.train_loss}}};
}

event_text line(const events::evaluated& e) {
  ordered_json out{{"epoch", value(e.epoch)},
                   {"step", value(e.step)},
                   {"test_loss", e.loss},
                   {"test_rows", e.rows},
                   {"ms", e.took.count()}};
  if (e.accuracy)
    out["test_accuracy"] = *e.accuracy;
  metrics::add_values(out, "", e.values);
  if (e.best)
    out["best"] = true;
  return {"evaluation", std::move(out)};
}

event_text line(const events::ends_early& e) {
  return {"ends_early",
          {{"epoch", value(e.epoch)},
           {"step", value(e.step)},
           {"reason", e.reason}}};
}

event_text line(const events::undone& e) {
  return {"undone",
          {{"from", value(e.from)}, {"to", value(e.to)}, {"reason", e.reason}}};
}

event_text line(const events::error& e) {
  return {"error", error_fields(e.why)};
}

event_text line(const events::step_refused& e) {
  ordered_json samples = ordered_json::object();
  for (const auto& [worker, ids] : e.samples)
    samples[worker] = ids;
  ordered_json out = error_fields(e.why);
  out["step"] = value(e.step);
  out["samples"] = std::move(samples);
  return {"error", std::move(out)};
}

event_text line(const events::respawn_ended& e) {
  return {
      "error",
      {{"code", to_string(errc::worker_lost)},
       {"message", std::to_string(e.deaths) +
                       " workers died before their first step within " +
                       std::to_string(e.window_s) +
                       " s; no more are started. The last one: " + e.last}}};
}

event_text line(const events::disk_full& e) {
  ordered_json out = ordered_json::object();
  if (!e.worker.empty())
    out["worker"] = e.worker;
  out["ms"] = e.took.count();
  if (e.message)
    out["message"] = *e.message;
  return {"disk_full", std::move(out)};
}

event_text line(const events::done& e) {
  ordered_json out{{"state", e.state}, {"steps", e.steps}};
  if (!e.reason.empty())
    out["reason"] = e.reason;
  return {"done", std::move(out)};
}

event_text line(const events::worker_joined& e) {
  ordered_json out = process(e);
  out["device"] = e.device;
  return {"worker_joined", std::move(out)};
}

event_text line(const events::worker_returned& e) {
  return {"worker_returned", process(e)};
}

event_text line(const events::worker_left& e) {
  return {"worker_left", process(e)};
}

event_text line(const events::worker_lost& e) {
  ordered_json out{{"worker", e.worker}, {"incarnation", e.incarnation}};
  if (e.process)
    out.update({{"pid", e.process->pid}, {"host", e.process->host}});
  out["reason"] = describe(e.cause);
  if (e.unsent_lost)
    out["unsent"] = "what its compressed gradients left out is lost";
  return {"worker_lost", std::move(out)};
}

event_text line(const events::state_received& e) {
  return {"state_received",
          {{"worker", e.worker},
           {"generation", value(e.generation)},
           {"bytes", e.bytes},
           {"ms", e.took.count()}}};
}

event_text line(const events::straggler& e) {
  ordered_json out{{"worker", e.worker},
                   {"device", e.device},
                   {"host", e.host},
                   {"causes", cause_names(e.what.what)},
                   {"over", e.over}};
  if (e.what.ratio > 0)
    out["row_time_ratio"] = e.what.ratio;
  if (!e.over)
    out["reason"] = sentence(e.what, e.worker, e.device);
  else if (describe(e.what.what).empty())
    out["reason"] = e.worker + " has its rows in time again; it waited for " +
                    whole_seconds(e.lasted);
  else
    out["reason"] = e.device + " of " + e.worker +
                    " is well again; it was in trouble for " +
                    whole_seconds(e.lasted);
  return {"straggler", std::move(out)};
}

event_text line(const events::cannot_open& e) {
  ordered_json out{{"attempts", e.attempts},
                   {"retry_ms", e.retry.count()},
                   {"message", e.message}};
  if (e.broken)
    out.update({{"worker", e.broken->worker},
                {"cannot_reach", e.broken->cannot_reach},
                {"address", e.broken->address}});
  return {"cannot_open", std::move(out)};
}

event_text line(const events::generation_begun& e) {
  ordered_json out{{"generation", value(e.number)},
                   {"step", value(e.step)},
                   {"workers", e.workers},
                   {"reason", std::visit(generation_reason{}, e.why)}};
  if (std::holds_alternative<events::generation_begun::from_checkpoint>(e.why))
    out["from_checkpoint"] = true;
  if (const auto* how =
          std::get_if<events::generation_begun::recovered>(&e.why)) {
    out["ms"] = how->whole.count();
    out["phases_ms"] = phases_of(*how);
  }
  out["collective"] = e.collective.name;
  if (!e.collective.reason.empty())
    out["collective_reason"] = e.collective.reason;
  return {"generation", std::move(out)};
}

event_text line(const events::plan_offered& e) {
  return {"plan",
          {{"plan", value(e.plan)},
           {"generation", value(e.generation)},
           {"outcome", "offered"},
           {"reason", "membership"}}};
}

event_text line(const events::plan_effective& e) {
  ordered_json out{{"plan", value(e.plan)},
                   {"generation", value(e.generation)},
                   {"step", value(e.step)},
                   {"outcome", "effective"},
                   {"reason", e.reason}};
  out.update(shares_of(e.shares));
  return {"plan", std::move(out)};
}

event_text line(const events::plan_dropped& e) {
  return {"plan",
          {{"plan", value(e.plan)},
           {"generation", value(e.generation)},
           {"outcome", "dropped"},
           {"reason", e.reason}}};
}

event_text line(const events::balanced& e) {
  ordered_json out{{"plan", value(e.what.plan)},
                   {"generation", value(e.what.generation)},
                   {"step", value(e.what.step)},
                   {"cause", to_string(e.balance.cause)},
                   {"reason", e.what.reason},
                   {"makespan_ratio_before", e.balance.makespan_ratio},
                   {"moved_rows", e.balance.moved_rows},
                   {"moved_bytes", e.balance.moved_bytes},
                   {"bound_rows", e.balance.bound_rows},
                   {"round_bound_rows", e.balance.round_bound_rows},
                   {"moved_rows_total", e.moved_rows_total},
                   {"bound_rows_total", e.bound_rows_total}};
  out.update(shares_of(e.what.shares));
  return {"balance", std::move(out)};
}

event_text line(const events::moved& e) {
  ordered_json out{{"plan", value(e.plan)},    {"rows", e.rows},
                   {"chunks", e.chunks},       {"bytes", e.bytes},
                   {"refetched", e.refetched}, {"ms", e.took.count()}};
  for (const auto& [worker, one] : e.ahead)
    out["ahead"].push_back(
        {{"worker", worker},
         {"bytes", one.bytes},
         {"needs_bytes_per_s", std::round(one.need_bytes_per_s)},
         {"reads_bytes_per_s", std::round(one.rate_bytes_per_s)},
         {"reason", sentence(one, worker)}});
  return {"move", std::move(out)};
}

event_text line(const events::chunk_damaged& e) {
  return {"damaged",
          {{"plan", value(e.plan)},
           {"chunk", value(e.chunk)},
           {"source", e.source},
           {"worker", e.worker}}};
}

} // namespace

event_text text_of(const coordinator::run_event& what) {
  return std::visit([](const auto& one) { return line(one); }, what);
}

std::string sentence(const coordinator::stragglers::finding& slow,
                     const std::string& name, const std::string& device) {
  const std::string why = "its " + describe(slow.what, device);
  if (slow.ratio == 0)
    return name + " may be held up by " + why;
  char ratio[32];
  std::snprintf(ratio, sizeof ratio, "%.1f", slow.ratio);
  if (slow.slow())
    return name + " is slow, " + ratio +
           " times the others' time for a row, because of " + why;
  return name + " keeps up, " + ratio +
         " times the others' time for a row, in spite of " + why;
}

void log_event(const event_text& what) {
  if (what.kind == "error")
    log().error("{}", what.fields.value("message", ""));
  else
    log().info("{} {}", what.kind, json_text(what.fields));
}

} // namespace ballast::monitor
