#include "actors/run_record.hpp"

#include "actors/local_protocol.hpp"
#include "actors/past_run_reader.hpp"
#include "actors/resume_check.hpp"
#include "data/checkpoint_store.hpp"
#include "data/set_tables.hpp"
#include "monitor/audit_run.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/text_digest.hpp"
#include "runtime/ledger/lineage.hpp"
#include "runtime/ledger/manifest.hpp"
#include "store/atomic_file.hpp"
#include "store/json_file.hpp"
#include "store/refuse_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace ballast {

namespace {

run_record::place make_place(const job& what, const std::string& folder,
                             const std::filesystem::path& base) {
  std::error_code too_long; // said by run_directory
  std::filesystem::path path(folder);
  bool was_there = !folder.empty() && std::filesystem::exists(path, too_long);
  bool had_lock =
      was_there && std::filesystem::exists(path / "run.lock", too_long);
  return {folder.empty() ? run_directory::create(base, what.name)
                         : run_directory::create_at(folder),
          was_there,
          had_lock,
          false,
          {}};
}

/// What a power cut tore is cut off before anybody reads it. Whatever else
/// forbids to go on is found before.
run_record::place adopt_place(const std::filesystem::path& folder) {
  run_record::place out{run_directory::adopt(folder), true, true, true, {}};
  check_past_files(out.directory.path());
  for (auto [name, key] :
       {std::pair("steps.jsonl", "step"), std::pair("events.jsonl", "seq")})
    if (auto cut = cut_damaged_tail(out.directory.file(name), key))
      out.tails.push_back(std::move(*cut));
  return out;
}

constexpr const char* token_name = "run.key";

/// Every process that can read the token can speak as a worker of the run.
void write_secret(const run_directory& in, const std::string& text) {
  const std::filesystem::path path = in.file(token_name);
  try {
    atomic_file file(path, {.permissions = 0600, .unfinished_in = in.tmp()});
    file.append(text);
    file.publish();
  } catch (const file_failure& problem) {
    refuse_file(path, problem.action(), problem.number());
  }
}

std::string read_secret(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::string out;
  in >> out; // what it must be was looked at before
  return out;
}

} // namespace

run_record::run_record(place where, const std::optional<std::string>& token)
    : folder_was_there_(where.was_there), had_lock_(where.had_lock),
      resumed_(where.resumed), tails_(std::move(where.tails)),
      directory_(std::move(where.directory)),
      name_(directory_.path().filename().string()),
      token_(token ? *token : read_secret(directory_.file(token_name))),
      journal_(journal::open_for_writing(directory_.path())),
      term_(journal_->term()),
      events_(std::make_shared<event_log>(directory_.file("events.jsonl"))),
      steps_(directory_.file("steps.jsonl")),
      probe_(std::make_shared<coordinator_probe>(name_)),
      started_(std::chrono::steady_clock::now()) {}

run_record::run_record(const job& what, const std::string& folder,
                       const std::filesystem::path& base,
                       const std::string& token,
                       const coordinator_addresses& addresses)
    : run_record(make_place(what, folder, base), token) {
  begin(what, addresses);
}

std::shared_ptr<run_record>
run_record::begin_again(const job& what, const std::filesystem::path& folder,
                        const std::string& token,
                        const coordinator_addresses& addresses) {
  std::shared_ptr<run_record> out(new run_record(adopt_place(folder), token));
  out->begin(what, addresses);
  return out;
}

void run_record::begin(const job& what,
                       const coordinator_addresses& addresses) {
  begins_ = true;
  directory_.write_json("job.json", to_json(what), outlives::power);
  write_secret(directory_, token_);
  (void)fault_point("run.begin");
  announce(addresses);
}

run_record::run_record(const std::filesystem::path& folder,
                       const coordinator_addresses& addresses)
    : run_record(adopt_place(folder), std::nullopt) {
  // Its last words may be in the journal alone.
  journal_->forget_events_after(events_->last());
  std::chrono::nanoseconds began(journal_->content().began_ns);
  if (began.count() > 0 && began < started_.time_since_epoch())
    started_ = std::chrono::steady_clock::time_point(began);
  announce(addresses);
}

void run_record::warn(const std::string& text) {
  log().warn("{}", text);
  if (tell_)
    tell_(text);
}

void run_record::announce(const coordinator_addresses& addresses) {
  directory_.write_json("coordinator.json",
                        nlohmann::ordered_json{{"pid", getpid()},
                                               {"term", value(term_)},
                                               {"control", addresses.control},
                                               {"http", addresses.http}});
}

void run_record::go_on() {
  if (!resumed_ || went_on_.exchange(true))
    return;
  std::error_code ignored;
  std::filesystem::path report = directory_.file("report.json");
  const bool readable = read_json_file(report).is_object();
  for (int life = 1; std::filesystem::exists(report, ignored); ++life) {
    std::string kept = "report-" + std::to_string(life) + ".json";
    if (std::filesystem::exists(directory_.file(kept), ignored))
      continue;
    std::filesystem::rename(report, directory_.file(kept));
    if (!readable)
      warn("report.json of the life before is no JSON object; it is kept as " +
           kept);
  }
  if (stop_is_over_) {
    standing_requests asked = open_journal().content().asked;
    asked.stop.reset();
    open_journal().record_requests(asked);
  }
  for (const damaged_tail& one : tails_) {
    std::string kept = one.kept.filename().string();
    std::string file = kept.substr(0, kept.rfind(".damaged-"));
    warn(file + " is damaged from line " + std::to_string(one.line) +
         " on: " + one.why + "; those " + std::to_string(one.bytes) +
         " bytes are kept as " + kept);
    events_->append(
        events::damaged_tail{file, one.line, one.bytes, one.why, kept});
  }
  for (const refuse_checkpoint& one : damaged_)
    perform(one);
}

past_run run_record::past() {
  checkpoint_store(directory_.checkpoints()).remove_unfinished();
  journal_content content = open_journal().content();
  past_run out = read_past_run(directory_.path(), content);
  read_checkpoints(out);
  // What was to stop it has: a user who resumes it wants it to go on.
  stop_is_over_ =
      out.asked.stop && std::filesystem::exists(directory_.file("report.json"));
  if (stop_is_over_)
    out.asked.stop.reset();
  samples_ = 0;
  for (const committed_step& step : out.steps)
    samples_ += step.samples;
  return out;
}

journal& run_record::open_journal() {
  if (!journal_)
    throw ballast_error(errc::internal,
                        "run " + name_ + " is over: its journal is closed");
  return *journal_;
}

namespace {

std::string digest_of(const nlohmann::json& about) {
  return digest_text(text_digest(0, json_text(about)));
}

/// The manifest with its chunks; without, if its table cannot be read.
manifest with_chunks(const nlohmann::json& about,
                     const std::filesystem::path& folder) {
  auto out = about.get<manifest>();
  try {
    read_chunks(folder, out);
  } catch (const ballast_error& e) {
    log().warn("{}", e.what());
  }
  return out;
}

/// Where to look for what differs.
std::string difference(const manifest& before, const manifest& now) {
  if (before.train_rows != now.train_rows)
    return "it has " + std::to_string(now.train_rows) +
           " training rows now, before it had " +
           std::to_string(before.train_rows);
  size_t count = std::min(before.train.size(), now.train.size());
  for (size_t i = 0; i < count; ++i)
    if (before.train[i].checksum != now.train[i].checksum) {
      const std::vector<id_run>& rows = now.train[i].source_rows;
      return "the first change is in chunk " + std::to_string(i) +
             (rows.empty()
                  ? ""
                  : ", which begins with row " +
                        std::to_string(rows[0].first + 1) + " of the source");
    }
  return before.test_rows != now.test_rows || before.train.size() == count
             ? "its test rows, its sources or how they are prepared differ"
             : "its chunks are cut differently";
}

} // namespace

/// What an earlier life journaled is about that set, and no other.
void run_record::same_set(const journaled_run& run, const set_prepared& made) {
  constexpr const char* name = "manifest.json";
  nlohmann::json now = nlohmann::json::parse(made.manifest);
  nlohmann::json kept = read_json_file(directory_.file(name));
  std::error_code none;
  const bool was_there = std::filesystem::exists(directory_.file(name), none);
  bool whole = kept.is_object() && digest_of(kept) == run.manifest;
  if (digest_of(now) != run.manifest)
    throw ballast_error(
        errc::run_dir_unusable,
        "the training data have changed since the run in " +
            directory_.path().string() + " began" +
            (whole ? ": " + difference(with_chunks(kept, directory_.path()),
                                       with_chunks(now, made.tables))
                   : "") +
            "; it cannot go on with others");
  if (whole)
    return;
  std::string why = was_there ? "was damaged or changed" : "was missing";
  if (was_there)
    std::filesystem::rename(directory_.file(name),
                            damaged_name(directory_.file(name)));
  directory_.write_file(name, made.manifest, outlives::power);
  warn(std::string(name) + " " + why +
       "; it is made again from the prepared data, which are those that the "
       "run began with");
  events_->append(events::manifest_restored{why});
}

void run_record::prepared(const job& what, const set_prepared& made,
                          const std::string& build) {
  if (auto begun = open_journal().content().run) {
    same_set(*begun, made);
  } else {
    directory_.write_file("manifest.json", made.manifest, outlives::power);
    open_journal().record_run(
        {name_, what.seed, made.set.train_rows, to_json(what),
         digest_text(run_identity(token_, name_)), build,
         digest_of(nlohmann::json::parse(made.manifest))});
  }
  if (!made.tables.empty())
    tables_.begin(made.tables, directory_.path(), directory_.tmp());
}

void run_record::perform(const journal_change& what) {
  journaled_generation row;
  row.number = what.generation;
  for (size_t i = 0; i < what.workers.size(); ++i)
    row.workers.push_back(
        {what.workers[i], what.names[i], what.incarnations[i]});
  open_journal().record_change(row, what.what, what.effective, what.note);
  probe_->generation(what.generation);
  probe_->world(uint32_t(what.workers.size()));
  probe_->plan(what.effective ? coordinator_probe::plan_outcome::effective
                              : coordinator_probe::plan_outcome::offered);
}

void run_record::perform(const journal_offer& what) {
  open_journal().record_offer(what.what, what.note);
  probe_->plan(coordinator_probe::plan_outcome::offered);
}

void run_record::perform(const journal_effective& what) {
  open_journal().record_effective(what.number, what.from);
  probe_->plan(coordinator_probe::plan_outcome::effective);
}

void run_record::perform(const journal_requests& what) {
  open_journal().record_requests(what.what);
}

void run_record::perform(const journal_commit& what) {
  open_journal().record_commit(what.step, what.epoch);
}

void run_record::perform(const write_steps& what) {
  steps_.append(what.steps);
  for (const committed_step& step : what.steps) {
    samples_ += step.samples;
    probe_->committed(step.step, step.epoch, step.samples, step.loss);
  }
}

void run_record::workers(const nlohmann::json& list) {
  directory_.write_json("workers.json", list);
}

std::string run_record::describe(const std::vector<row_ref>& rows) const {
  std::ifstream in(directory_.file("manifest.json"));
  auto set = nlohmann::json::parse(in).get<manifest>();
  if (set.tables)
    tables_.complete();
  read_chunks(directory_.path(), set);
  read_samples(directory_.path(), set);
  return describe_rows(set, rows);
}

/// Without them the audit says what is missing.
void run_record::complete_tables() {
  try {
    tables_.complete();
  } catch (const ballast_error& e) {
    if (e.what_failed().code == errc::disk_full)
      throw;
    log().warn("{}", e.what());
  }
}

nlohmann::ordered_json run_record::finish(run_report report) {
  report.wall_s = age_s();
  complete_tables();
  // A disk that is full loses the last steps: what counts is what is written.
  if (report.steps != value(steps_.last()))
    report.lineage.clear(); // of steps that nobody can read
  report.steps = value(steps_.last());
  report.samples = samples_;
  if (report.steps > 0)
    report.audit = audit_counts(directory_.path());
  // What cannot be shown to be exact is no success.
  if (report.state == to_string(run_phase::done) && report.audit &&
      !report.audit->problem.empty()) {
    report.state = to_string(run_phase::failed);
    report.reason = "the audit of the run found: " + report.audit->problem;
  }
  (void)fault_point("report.write");
  nlohmann::ordered_json out = to_json(report);
  directory_.write_json("report.json", out, outlives::power);
  events_->append(events::done{report.state, report.steps, report.reason});
  journal_.reset();
  return out;
}

void run_record::discard() {
  journal_.reset();
  if (resumed_)
    return;
  discarded_ = true;
  std::error_code ignored;
  const std::filesystem::path& folder = directory_.path();
  for (const auto& entry :
       std::filesystem::directory_iterator(directory_.logs(), ignored)) {
    // Of the coordinator, and of workers that `run` has started: "w1.log".
    std::string name = entry.path().filename().string();
    if (name == "coordinator.log" ||
        (name.starts_with("w") && name.ends_with(".log") && name.size() > 5 &&
         name.find_first_not_of("0123456789", 1) == name.size() - 4))
      std::filesystem::remove(entry.path(), ignored);
  }
  (void)fault_point("run.discard");
  // The folder was empty when this life took it.
  for (const char* name :
       {"job.json", token_name, "coordinator.json", "workers.json",
        "manifest.json", chunk_table_name, sample_table_name, "events.jsonl",
        "steps.jsonl", "report.json", "ledger.sqlite", "ledger.sqlite-wal",
        "ledger.sqlite-shm", "coordinator.lock", "logs", "trace", "checkpoints",
        "tmp"})
    std::filesystem::remove(folder / name, ignored); // no folder with content
  if (!had_lock_)
    std::filesystem::remove(folder / "run.lock", ignored);
  if (!folder_was_there_)
    std::filesystem::remove(folder, ignored);
}

double run_record::age_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                       started_)
      .count();
}

} // namespace ballast
