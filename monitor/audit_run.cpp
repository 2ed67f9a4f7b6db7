#include "monitor/audit_run.hpp"

#include "data/prepared/set_tables.hpp"
#include "monitor/audit_course.hpp"
#include "monitor/audit_results.hpp"
#include "monitor/used_samples.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/text_digest.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/epoch_uses.hpp"
#include "runtime/ledger/lineage.hpp"
#include "store/journal.hpp"
#include "store/json_file.hpp"
#include "store/json_lines.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <system_error>

namespace ballast::monitor {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

[[noreturn]] void unusable(const std::string& what) {
  throw ballast_error(errc::run_dir_unusable, "cannot audit: " + what);
}

[[noreturn]] void cannot_open(const fs::path& what, int why) {
  unusable("cannot open " + what.string() + ": " +
           std::generic_category().message(why));
}

uint64_t number_at(const json& line, const char* key) {
  const json& field = line.at(key);
  if (!field.is_number_unsigned())
    throw json::other_error::create(
        501, std::string(key) + " is not a number from 0", &field);
  return field.get<uint64_t>();
}

/// Passes errors in a line to `broken` with their place.
void for_each_line(
    const fs::path& file, const std::string& name,
    const std::function<void(const json&, const std::string& where)>& use,
    const std::function<void(const std::string&)>& broken) {
  auto where = [&name](uint64_t number) {
    return name + " line " + std::to_string(number);
  };
  bool read = store::for_each_json_line(
      file,
      [&](const json& line, uint64_t number) { use(line, where(number)); },
      [&](uint64_t number, const std::string& why) {
        broken(where(number) + ": " + why);
      });
  if (!read)
    cannot_open(file, errno);
}

/// A file that exists but cannot be read says nothing about the run: that is an
/// error, not a finding. Throws; a missing file gives a stream that is not
/// open.
std::ifstream open_if_there(const fs::path& file) {
  std::ifstream in(file);
  const int why = errno;
  if (!in.is_open() && why != ENOENT)
    cannot_open(file, why);
  return in;
}

/// Discarded if it is missing or not JSON.
json read_if_there(const fs::path& file) {
  (void)open_if_there(file);
  return store::read_json_file(file);
}

/// `samples`: with what only an audit reads.
ledger::manifest read_manifest(const fs::path& folder, bool samples) {
  fs::path file = folder / "manifest.json";
  std::error_code ignored;
  std::ifstream in = open_if_there(file);
  if (!in)
    unusable("no " + file.string());
  if (fs::is_directory(file, ignored))
    unusable(file.string() + " is a folder, expected a file");
  try {
    auto out = json::parse(in).get<ledger::manifest>();
    data::read_chunks(folder, out);
    if (samples)
      data::read_samples(folder, out);
    return out;
  } catch (const json::exception& error) {
    unusable(file.string() + ": " + error.what());
  } catch (const ballast_error& error) { // of a table
    unusable(error.what_failed().message);
  }
}

/// How often the job uses each row. Runs of earlier builds do not say: once.
std::shared_ptr<const ledger::epoch_uses>
uses_of(const json& job, uint64_t seed, const ledger::manifest& set) {
  const json& train = job.at("train");
  if (!train.contains("sampling") ||
      train.at("sampling").at("kind") == to_string(sampling_kind::once))
    return nullptr;
  job_result read = parse_job(json_text(job), {}, "/");
  if (!read.value)
    unusable("the job in the journal: " + read.mistakes.at(0).message);
  const sampling_spec& how = read.value->train.sampling;
  if (failure none = ledger::epoch_uses::mistake(how, set))
    unusable("manifest.json: " + none.message);
  return ledger::epoch_uses::of(how, read.value->train.epochs, seed, set);
}

/// Of a step, in a journaled job. Those of earlier builds are of order local.
uint32_t leaves_in(const json& train) {
  const auto order = train.value("order", to_string(sample_order::local));
  return order == to_string(sample_order::global)
             ? uint32_t(number_at(train, "leaves"))
             : 0;
}

ledger::audit_input input_of(const store::journal_content& journal,
                             const ledger::manifest& set) {
  if (!journal.run)
    unusable("the journal names no run: it ended before its first step");
  ledger::audit_input out;
  out.set = &set;
  try {
    const json& job = journal.run->job;
    out.epochs = number_at(job.at("train"), "epochs");
    out.traced = job.at("trace_samples").get<bool>();
    out.run.config.seed = journal.run->seed;
    out.run.config.global_batch = number_at(job.at("train"), "global_batch");
    out.run.config.uses = uses_of(job, journal.run->seed, set);
    // Runs of earlier builds have no windows.
    if (const json& train = job.at("train"); train.contains("shuffle"))
      if (const json& rows = train.at("shuffle").at("window_chunks");
          !rows.is_null())
        out.run.config.window_chunks = rows.get<uint32_t>();
    out.run.config.leaves = leaves_in(job.at("train"));
  } catch (const json::exception& error) {
    unusable(std::string("the job in the journal: ") + error.what());
  }
  out.run.config.chunk_rows = counted_rows(set, out.run.config.uses.get());
  for (const store::journaled_plan& one : journal.plans)
    if (one.effective)
      out.run.plans.push_back({one.body, *one.effective});
  return out;
}

void read_steps(const fs::path& folder, epoch_loss& trained,
                ledger::audit& into) {
  for_each_line(
      folder / "steps.jsonl", "steps.jsonl",
      [&](const json& line, const std::string&) {
        ledger::step_line step;
        step.at.step = step_number{number_at(line, "step")};
        step.at.epoch = epoch_number{number_at(line, "epoch")};
        step.generation = generation{number_at(line, "generation")};
        step.plan = plan_number{number_at(line, "plan")};
        step.world = number_at(line, "world");
        step.samples = number_at(line, "samples");
        into.step(step);
        trained.add(line);
      },
      [&](const std::string& what) { into.problem(what); });
}

/// "NAME.INCARNATION.jsonl" -> worker.
std::map<std::string, worker_id>
trace_owners(const store::journal_content& journal) {
  std::map<std::string, worker_id> out;
  for (const store::journaled_generation& one : journal.generations)
    for (const store::journaled_worker& worker : one.workers)
      out[worker.name + "." + std::to_string(worker.incarnation) + ".jsonl"] =
          worker.id;
  return out;
}

void read_trace(const fs::path& file, worker_id owner,
                const std::optional<sampling::importance_switch>& draws,
                ledger::audit& into) {
  std::vector<uint64_t> ids;
  for_each_line(
      file, "trace/" + file.filename().string(),
      [&](const json& line, const std::string& where) {
        ids = ids_at(line, "ids");
        if (const std::string wrong = mistake_in_used(line, ids, draws);
            !wrong.empty())
          into.problem(where + ": " + wrong);
        ledger::trace_line trace;
        trace.worker = owner;
        trace.generation = generation{number_at(line, "generation")};
        trace.plan = plan_number{number_at(line, "plan")};
        trace.at.step = step_number{number_at(line, "step")};
        trace.at.epoch = epoch_number{number_at(line, "epoch")};
        trace.ids = ids;
        trace.where = where;
        into.trace(trace);
      },
      [&](const std::string& what) { into.problem(what); });
}

void read_traces(const fs::path& folder, const store::journal_content& journal,
                 ledger::audit& into) {
  std::map<std::string, worker_id> owners = trace_owners(journal);
  std::vector<fs::path> files;
  std::error_code missing;
  for (const auto& entry : fs::directory_iterator(folder / "trace", missing))
    files.push_back(entry.path());
  if (missing && missing != std::errc::no_such_file_or_directory)
    cannot_open(folder / "trace", missing.value());
  std::sort(files.begin(), files.end());
  const auto draws = draws_of(journal.run->job);
  for (const fs::path& file : files) {
    auto owner = owners.find(file.filename().string());
    if (owner == owners.end())
      into.problem("trace/" + file.filename().string() +
                   " belongs to no worker of the journal");
    else
      read_trace(file, owner->second, draws, into);
  }
}

/// Checks the run's own report. An unfinished or killed run has none.
void check_report(const fs::path& folder, const store::journal_content& journal,
                  uint64_t steps_committed, const course& whole,
                  ledger::audit& into) {
  std::error_code ignored;
  if (!fs::exists(folder / "report.json", ignored))
    return;
  json report = read_if_there(folder / "report.json");
  if (!report.is_object())
    return into.problem("report.json is no JSON object");
  std::string state = json_text(report.value("state", json()));
  json steps = report.value("steps", json());
  if (steps != steps_committed)
    into.problem("report.json says " + json_text(steps) +
                 " steps, steps.jsonl has " + std::to_string(steps_committed));
  if (state == "\"done\"" && steps_committed != whole.steps)
    into.problem("report.json says done, but only " +
                 std::to_string(steps_committed) + " of " +
                 std::to_string(whole.steps) + " steps are in steps.jsonl");
  check_course(whole, report, into);
  if (state != "\"failed\"" && value(journal.committed) != steps_committed)
    into.problem("the journal says that the run ended with step " +
                 to_string(journal.committed) + ", steps.jsonl has " +
                 std::to_string(steps_committed));
}

/// The first place where two JSON values differ, as "/train/lr".
std::string first_difference(const json& a, const json& b) {
  json found = json::diff(a, b);
  return found.empty() ? "" : found[0].value("path", "");
}

/// job.json is as the user gave it; the journal has what that left open.
json decided(json told, const json& journaled) {
  const json::json_pointer window("/train/shuffle/window_chunks");
  if (told.contains(window) && told[window].is_null() &&
      journaled.contains(window))
    told[window] = journaled[window];
  return told;
}

/// Checks other files, and the journal's own rows, against the journal.
void check_origin(const fs::path& folder, const store::journal_content& journal,
                  ledger::audit& into) {
  const store::journaled_run& run = *journal.run;
  if (json seed = run.job.value("seed", json(run.seed)); seed != run.seed)
    into.problem("the journal has seed " + std::to_string(run.seed) +
                 ", its job " + json_text(seed));
  std::error_code ignored;
  const bool has_job = fs::exists(folder / "job.json", ignored);
  json told = decided(read_if_there(folder / "job.json"), run.job);
  if (has_job && !told.is_object())
    into.problem("job.json is no JSON object");
  else if (has_job && told != run.job)
    into.problem("job.json differs from the job in the journal at " +
                 first_difference(run.job, told));
  json about = read_if_there(folder / "manifest.json");
  if (!run.manifest.empty() &&
      digest_text(text_digest(0, json_text(about))) != run.manifest)
    into.problem("manifest.json is not the one that the run began with");
  std::map<generation, std::set<worker_id>> members;
  for (const store::journaled_generation& one : journal.generations)
    for (const store::journaled_worker& worker : one.workers)
      members[one.number].insert(worker.id);
  for (const store::journaled_plan& one : journal.plans)
    for (const ledger::share& part : one.body.shares)
      if (!members[one.body.generation].contains(part.worker))
        into.problem("the journal has worker " + to_string(part.worker) +
                     " in plan " + to_string(one.body.number) +
                     ", but not in its generation " +
                     to_string(one.body.generation));
}

std::optional<ledger::checkpoint_identity>
identity_after(const store::journal_content& journal,
               const ledger::manifest& set, step_number steps) {
  if (!journal.run || journal.run->identity.size() != 16)
    return std::nullopt;
  ledger::audit_input input = input_of(journal, set);
  ledger::checkpoint_identity out;
  out.lineage = ledger::lineage_begin(
      std::strtoull(journal.run->identity.c_str(), nullptr, 16),
      input.run.config.seed, input.run.config.global_batch, set.content_id,
      input.run.config.leaves);
  ledger::ledger_walk walk(input.run);
  for (uint64_t step = 1; step <= value(steps); ++step) {
    bool entered = false;
    std::optional<ledger::committed_step> done = walk.walk(entered);
    if (!done)
      return std::nullopt;
    out.lineage = lineage_after(out.lineage, *done,
                                entered ? &walk.book().current() : nullptr);
    out.epoch = done->epoch;
    out.step = done->step;
    out.generation = done->generation;
    out.plan = done->plan;
  }
  return out;
}

void check_lineage(const fs::path& folder,
                   const store::journal_content& journal,
                   const ledger::manifest& set, uint64_t steps,
                   ledger::audit& into) {
  json report = read_if_there(folder / "report.json");
  if (!report.is_object() || !report.contains("lineage") ||
      report.value("steps", json()) != steps)
    return;
  const auto expected = identity_after(journal, set, step_number{steps});
  if (!expected)
    return;
  const std::string lineage = ledger::lineage_text(expected->lineage);
  if (report["lineage"] != lineage)
    into.problem("report.json names lineage " + json_text(report["lineage"]) +
                 ", by the ledger it is " + lineage +
                 ": a plan, or the report, was changed");
}

} // namespace

std::optional<ledger::checkpoint_identity>
identity_by_ledger(const fs::path& folder, step_number step) {
  return identity_after(store::read_journal(folder),
                        read_manifest(folder, false), step);
}

ledger::audit_report audit_run_directory(const fs::path& folder) {
  // The journal first: steps.jsonl of a running run is then never behind it.
  store::journal_content journal = store::read_journal(folder);
  ledger::manifest set = read_manifest(folder, true);
  ledger::audit_input input = input_of(journal, set);
  uint64_t epochs = input.epochs, batch = input.run.config.global_batch;
  bool traced = input.traced;
  const uint64_t rows = row_count(input.run.config);
  ledger::audit all(std::move(input));
  if (journal.run->rows != rows)
    all.problem("the journal is of a set of " +
                std::to_string(journal.run->rows) + " rows, the manifest of " +
                std::to_string(rows));
  check_origin(folder, journal, all);
  epoch_loss trained;
  read_steps(folder, trained, all);
  if (traced)
    read_traces(folder, journal, all);
  uint64_t steps = all.steps_committed();
  if (steps < value(journal.committed))
    all.problem("the journal says that step " + to_string(journal.committed) +
                " is committed, steps.jsonl has " + std::to_string(steps));
  if (batch > 0)
    check_report(folder, journal, steps,
                 course_of(journal, epochs * ((rows + batch - 1) / batch)),
                 all);
  check_lineage(folder, journal, set, steps, all);
  check_results(folder, journal, read_if_there(folder / "report.json"), trained,
                all);
  return all.report();
}

audit_result audit_counts(const fs::path& folder) {
  ledger::audit_report found = audit_run_directory(folder);
  ledger::sample_counts counts = found.counts();
  return {counts.expected, counts.once, counts.lost, counts.repeated,
          found.fine() ? std::string() : found.first_problems.at(0)};
}

} // namespace ballast::monitor
