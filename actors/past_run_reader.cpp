#include "actors/past_run_reader.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"
#include "store/json_lines.hpp"

#include <algorithm>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>

namespace ballast::actors {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Of a job, when its run goes on: how many, how patient, how often, how
/// judged, for how long.
constexpr const char* may_change[] = {
    "/elastic",       "/balance",          "/checkpoint",
    "/faults",        "/evaluate/metrics", "/stop/max_minutes",
    "/name",          "/data/memory_mb",   "/data/disk_mb",
    "/train/threads", "/train/collective", "/train/activation_checkpointing"};

ledger::committed_step step_of(const json& line) {
  ledger::committed_step out;
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

/// Each time steps in order were added to that file. A damaged line is nothing
/// to stop for: only how many failures there were depends on it.
uint64_t times_undone(const fs::path& file) {
  uint64_t out = 0;
  uint64_t last = 0;
  store::for_each_json_line(
      file,
      [&](const json& line, uint64_t) {
        const auto step = line.at("step").get<uint64_t>();
        out += out == 0 || step != last + 1 ? 1 : 0;
        last = step;
      },
      [](uint64_t, const std::string&) {});
  std::error_code none;
  const bool torn = fs::file_size(file, none) > 0 && !none;
  return std::max<uint64_t>(out, torn ? 1 : 0);
}

/// A damaged line is nothing to stop for: then a loss is told twice.
std::set<std::pair<std::string, uint32_t>> lost_in(const fs::path& events) {
  std::set<std::pair<std::string, uint32_t>> out;
  std::ifstream in(events);
  for (std::string text; std::getline(in, text);) {
    if (text.find("\"worker_lost\"") == std::string::npos)
      continue; // most are of something else
    try {
      const json line = json::parse(text);
      if (line.at("kind") == "worker_lost")
        out.emplace(line.at("worker").get<std::string>(),
                    line.at("incarnation").get<uint32_t>());
    } catch (const json::exception&) {
    }
  }
  return out;
}

/// What was told of plans, and what balancing came to by those in force.
void read_told(const store::journal_content& journal,
               coordinator::past_run& out) {
  std::map<std::pair<plan_number, generation>, bool> dropped;
  for (const store::journaled_telling& one : journal.told)
    dropped[{one.number, one.generation}] = one.dropped;
  for (coordinator::past_plan& one : out.plans) {
    auto found = dropped.find({one.body.number, one.body.generation});
    one.told = found != dropped.end();
    if (!one.effective && (!one.told || found->second))
      continue;
    if (one.note.balance) {
      out.balance.count(*one.note.balance);
    } else if (!out.balance.skew_start) {
      double skew = 0;
      for (const share_summary& share : one.note.shares)
        skew = std::max(skew, share.skew_tv);
      out.balance.skew_start = skew;
    }
  }
}

} // namespace

job begun_as(const store::journaled_run& run) {
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

coordinator::past_run read_past_run(const fs::path& folder,
                                    const store::journal_content& journal) {
  if (!journal.run)
    throw ballast_error(errc::run_dir_unusable,
                        folder.string() +
                            " holds a run that ended before its first step: "
                            "begin again in another folder");
  (void)fault_point("past.read");
  coordinator::past_run out;
  out.begun = begun_as(*journal.run);
  out.what = out.begun;
  out.name = journal.run->name;
  out.rows = journal.run->rows;
  for (const store::journaled_generation& one : journal.generations) {
    coordinator::past_membership& row = out.memberships.emplace_back();
    row.generation = one.number;
    for (const store::journaled_worker& who : one.workers) {
      row.workers.push_back(who.id);
      row.names.push_back(who.name);
      row.incarnations.push_back(who.incarnation);
    }
  }
  for (const store::journaled_plan& one : journal.plans)
    out.plans.push_back({one.body, one.effective, one.note});
  store::for_each_line_of(
      folder / "steps.jsonl", "step",
      [&out](const json& line) { out.steps.push_back(step_of(line)); });
  out.undone = times_undone(folder / "undone.jsonl");
  out.committed = journal.committed;
  out.probe = journal.probe;
  out.asked = journal.asked;
  for (const evaluation_report& one : journal.evaluations) {
    out.test = one;
    out.evaluated_ns[one.step] = one.wall_ns;
    out.evaluations.push_back(one);
  }
  for (const store::journaled_recovery& one : journal.recoveries)
    out.recoveries.emplace_back(one.reason, one.ms);
  out.restarts.insert(journal.restarts.begin(), journal.restarts.end());
  read_told(journal, out);
  out.lost = lost_in(folder / "events.jsonl");
  return out;
}

job as_begun(const job& begun, job asked) {
  if (!asked.train.shuffle.window_chunks)
    asked.train.shuffle = begun.train.shuffle;
  return asked;
}

std::string cannot_go_on(const job& begun, const job& asked) {
  json before = to_json(begun), now = to_json(as_begun(begun, asked));
  std::string may;
  for (const char* free : may_change) {
    may += std::string(may.empty() ? "" : ", ") + free;
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
         "; only how it is run may change: " + may;
}

} // namespace ballast::actors
