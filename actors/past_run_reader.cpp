#include "actors/past_run_reader.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "store/json_lines.hpp"

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

namespace ballast {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void for_each_line(const fs::path& file,
                   const std::function<void(const json&)>& use) {
  for_each_json_line(
      file, [&](const json& line, uint64_t) { use(line); },
      [&](uint64_t number, const std::string& why) {
        throw ballast_error(errc::run_dir_unusable, file.string() + " line " +
                                                        std::to_string(number) +
                                                        " is damaged: " + why);
      });
}

committed_step step_of(const json& line) {
  committed_step out;
  out.step = step_number{line.at("step").get<uint64_t>()};
  out.epoch = epoch_number{line.at("epoch").get<uint64_t>()};
  out.generation = generation{line.at("generation").get<uint64_t>()};
  out.plan = plan_number{line.at("plan").get<uint64_t>()};
  out.world = line.at("world").get<uint32_t>();
  out.samples = line.at("samples").get<uint64_t>();
  out.loss = line.at("loss").is_null()
                 ? std::numeric_limits<double>::quiet_NaN()
                 : line.at("loss").get<double>();
  out.t_ns = line.at("t_ns").get<uint64_t>();
  return out;
}

/// What balancing came to, as its events tell it.
void read_balance(const std::string& kind, const json& event,
                  balance_account& out) {
  if (kind == "plan" && event.contains("skew_tv_max") && !out.skew_start)
    out.skew_start = event["skew_tv_max"].get<double>();
  if (kind != "balance")
    return;
  ++out.plans;
  auto rows = event.value("moved_rows", uint64_t{0});
  std::string cause = event.value("cause", "");
  out.moved_rows += rows;
  if (cause == to_string(balance_cause::skew))
    out.moved_by_skew += rows;
  if (cause == to_string(balance_cause::coverage))
    out.moved_by_coverage += rows;
  out.moved_bytes += event.value("moved_bytes", uint64_t{0});
  out.bound_rows = event.value("bound_rows_total", out.bound_rows);
}

/// That a plan took effect, or was dropped.
bool tells_of_plan(const std::string& kind, const json& event) {
  return kind == "balance" ||
         (kind == "plan" && event.value("outcome", "") != "offered");
}

void read_events(const fs::path& file, past_run& out) {
  // A number that was never journaled may have been given again.
  std::set<std::pair<plan_number, generation>> told;
  for_each_line(file, [&](const json& event) {
    std::string kind = event.value("kind", "");
    if (tells_of_plan(kind, event))
      told.insert({plan_number{event.value("plan", uint64_t{0})},
                   generation{event.value("generation", uint64_t{0})}});
    if (kind == "generation" && event.contains("ms"))
      out.recoveries.emplace_back(event.value("reason", ""),
                                  event.at("ms").get<double>());
    if (kind == "generation" && event.value("from_checkpoint", false))
      out.restarts.insert(step_number{event.at("step").get<uint64_t>()});
    read_balance(kind, event, out.balance);
    if (kind != "evaluation")
      return;
    evaluation_report& test = out.test.emplace();
    test.epoch = epoch_number{event.at("epoch").get<uint64_t>()};
    test.loss = event.at("test_loss").get<double>();
    test.rows = event.at("test_rows").get<uint64_t>();
    test.accuracy = event.value("test_accuracy", 0.0);
    test.wall_ns = uint64_t(event.at("ms").get<double>() * 1e6);
    out.evaluated_ns[test.epoch] = test.wall_ns;
  });
  for (past_plan& one : out.plans)
    one.told = told.contains({one.body.number, one.body.generation});
}

} // namespace

job begun_as(const journaled_run& run) {
  job_result parsed = parse_job(json_text(run.job), {}, "/");
  if (!parsed.value)
    throw ballast_error(parsed.mistakes.at(0));
  if (parsed.value->seed != run.seed)
    throw ballast_error(errc::run_dir_unusable,
                        "the journal contradicts itself: seed " +
                            std::to_string(run.seed) + ", but its job has " +
                            std::to_string(parsed.value->seed));
  return *parsed.value;
}

past_run read_past_run(const fs::path& folder, const journal_content& journal) {
  if (!journal.run)
    throw ballast_error(errc::run_dir_unusable,
                        folder.string() +
                            " holds a run that ended before its first step: "
                            "begin again in another folder");
  past_run out;
  out.begun = begun_as(*journal.run);
  out.what = out.begun;
  out.name = journal.run->name;
  out.rows = journal.run->rows;
  for (const journaled_generation& one : journal.generations) {
    past_membership& row = out.memberships.emplace_back();
    row.generation = one.number;
    for (const journaled_worker& who : one.workers) {
      row.workers.push_back(who.id);
      row.names.push_back(who.name);
      row.incarnations.push_back(who.incarnation);
    }
  }
  for (const journaled_plan& one : journal.plans)
    out.plans.push_back({one.body, one.effective, one.note});
  for_each_line(folder / "steps.jsonl", [&out](const json& line) {
    out.steps.push_back(step_of(line));
  });
  std::error_code none;
  out.undone =
      std::filesystem::file_size(folder / "undone.jsonl", none) > 0 && !none;
  out.committed = journal.committed;
  out.asked = journal.asked;
  read_events(folder / "events.jsonl", out);
  return out;
}

std::string cannot_go_on(const job& begun, const job& asked) {
  json before = to_json(begun), now = to_json(asked);
  // How many, how patient, how often: that may change.
  for (const char* free : {"/elastic", "/balance", "/checkpoint", "/faults",
                           "/name", "/train/threads", "/train/collective",
                           "/train/activation_checkpointing"}) {
    before.erase(free + 1);
    now.erase(free + 1);
    json::json_pointer where(free);
    for (json* one : {&before, &now})
      if (where.parent_pointer() != json::json_pointer() &&
          one->contains(where))
        (*one)[where.parent_pointer()].erase(where.back());
  }
  json difference = json::diff(before, now);
  if (difference.empty())
    return {};
  return "the job differs from the one that the run began with at " +
         difference[0].value("path", "") +
         "; only how it is run may change (elastic, balance, checkpoint)";
}

} // namespace ballast
