#include "actors/run_record.hpp"

#include "actors/local_protocol.hpp"
#include "actors/past_run_reader.hpp"
#include "actors/resume_check.hpp"
#include "actors/run_parent.hpp"
#include "data/fitting/state_files.hpp"
#include "data/model/checkpoint_store.hpp"
#include "data/prepared/set_tables.hpp"
#include "data/source/row_faults.hpp"
#include "monitor/audit_run.hpp"
#include "monitor/report_page.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/text_digest.hpp"
#include "runtime/ledger/lineage.hpp"
#include "store/atomic_file.hpp"
#include "store/json_file.hpp"
#include "store/refuse_file.hpp"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace ballast::actors {

namespace {

constexpr const char* page_name = "report.html";

run_record::place make_place(const job& what, const std::string& folder,
                             const std::filesystem::path& base) {
  std::error_code too_long; // said by run_directory
  std::filesystem::path path(folder);
  bool was_there = !folder.empty() && std::filesystem::exists(path, too_long);
  bool had_lock =
      was_there && std::filesystem::exists(path / "run.lock", too_long);
  return {folder.empty() ? store::run_directory::create(base, what.name)
                         : store::run_directory::create_at(folder),
          was_there,
          had_lock,
          false,
          {}};
}

/// What a power cut tore is cut off before anybody reads it. Whatever else
/// forbids to go on is found before.
run_record::place adopt_place(const std::filesystem::path& folder) {
  run_record::place out{
      store::run_directory::adopt(folder), true, true, true, {}};
  check_past_files(out.directory.path());
  for (auto [name, key] :
       {std::pair("steps.jsonl", "step"), std::pair("events.jsonl", "seq")})
    if (auto cut = store::cut_damaged_tail(out.directory.file(name), key))
      out.tails.push_back(std::move(*cut));
  return out;
}

constexpr const char* token_name = "run.key";

std::string tell_undo(step_number to, step_number last,
                      const std::string& reason) {
  return "goes on from step " + to_string(to) + "; steps " +
         to_string(next(to)) + " to " + to_string(last) +
         " were committed but not saved and are done again: " + reason;
}

/// Every process that can read the token can speak as a worker of the run.
void write_secret(const store::run_directory& in, const std::string& text) {
  const std::filesystem::path path = in.file(token_name);
  try {
    store::atomic_file file(path,
                            {.permissions = 0600, .unfinished_in = in.tmp()});
    file.append(text);
    file.publish();
  } catch (const store::file_failure& problem) {
    store::refuse_file(path, problem.action(), problem.number());
  }
}

std::string read_secret(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::string out;
  in >> out; // what it must be was looked at before
  return out;
}

/// What cannot be shown to be exact is no success.
void audit(const std::filesystem::path& folder, const run_notices& notices,
           monitor::run_report& report) {
  std::string doubt;
  try {
    report.audit = monitor::audit_counts(folder);
    if (!report.audit->problem.empty())
      doubt = "the audit of the run found: " + report.audit->problem;
  } catch (const ballast_error& error) {
    doubt = error.what_failed().message; // "cannot audit: ..."
  }
  if (doubt.empty())
    return;
  notices.warn(doubt);
  report.state = to_string(coordinator::run_phase::failed);
  report.reason += (report.reason.empty() ? "" : "; ") + doubt;
}

/// What an earlier life has shown.
void remember(monitor::run_history& to, const coordinator::past_run& past) {
  to.committed(past.steps);
  each_past_evaluation(past, [&to](int64_t t_ns, const auto& what) {
    to.evaluated(t_ns, what);
  });
}

/// `ballast report` makes it at any time: without it nothing is lost.
void write_page(const store::run_directory& of, const run_notices& notices) {
  try {
    store::atomic_file file(
        of.file(page_name),
        {.durability = store::outlives::process, .unfinished_in = of.tmp()});
    file.append(monitor::report_page(of.path()));
    file.publish();
  } catch (const std::exception& problem) {
    notices.warn(std::string(page_name) + " is not written: " + problem.what());
  }
}

} // namespace

run_record::run_record(place where, const std::optional<std::string>& token)
    : folder_was_there_(where.was_there), had_lock_(where.had_lock),
      resumed_(where.resumed), tails_(std::move(where.tails)),
      directory_(std::move(where.directory)),
      name_(directory_.path().filename().string()),
      token_(token ? *token : read_secret(directory_.file(token_name))),
      probe_(std::make_shared<monitor::coordinator_probe>(name_)),
      journal_(directory_.path(), probe_), term_(journal_.open().term()),
      notices_(std::make_shared<monitor::event_log>(
          directory_.file("events.jsonl"))),
      steps_(directory_.file("steps.jsonl")),
      tracks_(directory_.path(),
              [this](const std::string& trouble) { notices_.warn(trouble); }),
      set_(directory_, notices_), models_(directory_, notices_),
      copies_(directory_, notices_),
      checkpoints_(directory_, notices_, copies_, probe_),
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
  checkpoints_.forget_memory();
  directory_.write_json("job.json", to_json(what), store::outlives::power);
  tracks_.begin(what.track);
  write_secret(directory_, token_);
  (void)fault_point("run.begin");
  announce(addresses);
}

run_record::run_record(const std::filesystem::path& folder,
                       const coordinator_addresses& addresses)
    : run_record(adopt_place(folder), std::nullopt) {
  // Its last words may be in the journal alone.
  journal_.open().forget_events_after(notices_.events()->last());
  std::chrono::nanoseconds began(journal_.open().content().began_ns);
  if (began.count() > 0 && began < started_.time_since_epoch())
    started_ = std::chrono::steady_clock::time_point(began);
  announce(addresses);
}

void run_record::announce(const coordinator_addresses& addresses,
                          ballast::term least) {
  journal_.open().rise_to(least);
  term_ = journal_.open().term();
  directory_.write_json("coordinator.json",
                        nlohmann::ordered_json{{"pid", getpid()},
                                               {"term", value(term_)},
                                               {"control", addresses.control},
                                               {"http", addresses.http}});
}

void run_record::go_on() {
  if (!resumed_ || went_on_)
    return;
  // Before its report goes: without one the stop would still count.
  if (stop_is_over_) {
    coordinator::standing_requests asked = journal_.open().content().asked;
    asked.stop.reset();
    journal_.open().record_requests(asked);
  }
  went_on_ = true;
  inherited_ = steps_.last();
  std::error_code ignored;
  std::filesystem::path report = directory_.file("report.json");
  const bool readable = store::read_json_file(report).is_object();
  for (int life = 1; std::filesystem::exists(report, ignored); ++life) {
    std::string kept = "report-" + std::to_string(life) + ".json";
    if (std::filesystem::exists(directory_.file(kept), ignored))
      continue;
    std::filesystem::rename(report, directory_.file(kept));
    std::filesystem::rename(
        directory_.file(page_name),
        directory_.file("report-" + std::to_string(life) + ".html"), ignored);
    if (!readable)
      notices_.warn(
          "report.json of the life before is no JSON object; it is kept as " +
          kept);
  }
  for (const store::damaged_tail& one : tails_) {
    std::string kept = one.kept.filename().string();
    std::string file = kept.substr(0, kept.rfind(".damaged-"));
    notices_.warn(file + " is damaged from line " + std::to_string(one.line) +
                  " on: " + one.why + "; those " + std::to_string(one.bytes) +
                  " bytes are kept as " + kept);
    notices_.events()->append(coordinator::events::damaged_tail{
        file, one.line, one.bytes, one.why, kept});
  }
  checkpoints_.refuse_damaged();
}

coordinator::past_run run_record::past() {
  data::checkpoint_store(directory_.checkpoints()).remove_unfinished();
  store::journal_content content = journal_.open().content();
  coordinator::past_run out = read_past_run(directory_.path(), content);
  checkpoints_.read(out);
  // What was to stop it has: a user who resumes it wants it to go on.
  stop_is_over_ =
      out.asked.stop && std::filesystem::exists(directory_.file("report.json"));
  if (stop_is_over_)
    out.asked.stop.reset();
  samples_ = 0;
  for (const ledger::committed_step& step : out.steps)
    samples_ += step.samples;
  remember(*notices_.history(), out);
  tracks_.found(out);
  return out;
}

void run_record::prepared(const job& what, const set_prepared& made,
                          const std::string& build) {
  if (auto begun = journal_.open().content().run)
    set_.check(made, begun->manifest);
  else
    journal_.open().record_run(
        {name_, what.seed, made.set.train_rows, to_json(what),
         digest_text(ledger::run_identity(token_, name_)), build,
         set_.begin(made)});
  set_.keep_rejected(made);
  set_.keep_preprocessing(made);
  set_.copy_tables(made);
  if (begins_)
    if (const std::string why = unlike_parent(directory_.path()); !why.empty())
      notices_.warn(why);
}

void run_record::perform(const coordinator::write_steps& what) {
  steps_.append(what.steps);
  for (const ledger::committed_step& step : what.steps) {
    samples_ += step.samples;
    probe_->committed(step.step, step.epoch, step.samples, step.loss);
  }
  notices_.history()->committed(what.steps);
  tracks_.committed(what.steps);
}

void run_record::perform(const coordinator::undo_steps& what) {
  // Where the disk is full this comes again.
  step_number last = undoing_.value_or(steps_.last());
  if (!undoing_)
    notices_.warn(tell_undo(what.to, last, what.reason));
  undoing_ = last;
  journal_.open().record_undo(what.to, what.epoch);
  inherited_ = std::min(inherited_, what.to);
  samples_ -=
      std::min(samples_, steps_.cut(what.to, directory_.file("undone.jsonl")));
  notices_.history()->undone(what.to);
  if (tracks_.wants_any())
    tracks_.found(read_past_run(directory_.path(), journal_.open().content()));
  checkpoints_.undo_after(what.to);
  notices_.events()->append(
      coordinator::events::undone{last, what.to, what.reason});
  undoing_.reset();
}

void run_record::workers(const nlohmann::json& list) {
  directory_.write_json("workers.json", list);
}

nlohmann::ordered_json run_record::finish(monitor::run_report report) {
  report.wall_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - started_)
          .count();
  set_.complete_tables();
  checkpoints_.close(report.state != to_string(coordinator::run_phase::done));
  // A disk that is full loses the last steps: what counts is what is written.
  if (report.steps != value(steps_.last()))
    report.lineage.clear(); // of steps that nobody can read
  report.steps = value(steps_.last());
  report.samples = samples_;
  if (report.importance) // which workers report, and no file has
    report.importance->since_step = value(inherited_);
  if (report.steps > 0)
    audit(directory_.path(), notices_, report);
  (void)fault_point("report.write");
  nlohmann::ordered_json out = to_json(report);
  if (const auto& rejected = set_.rejected())
    out["rejected"] = {{"read", rejected->read},
                       {"rows", rejected->rows},
                       {"kept", rejected->kept},
                       {"removed", rejected->removed}};
  if (const auto parent = kept_parent(directory_.path()))
    out["parent"] = {{"run", parent->run},
                     {"step", value(parent->step)},
                     {"sha256", parent->sha256}};
  directory_.write_json("report.json", out, store::outlives::power);
  if (report.weights_sha256)
    models_.describe();
  copies_.finish(report.state, step_number{report.steps});
  notices_.events()->append(
      coordinator::events::done{report.state, report.steps, report.reason});
  write_page(directory_, notices_);
  journal_.close();
  return out;
}

void run_record::discard() {
  journal_.close();
  if (resumed_)
    return;
  discarded_ = true;
  copies_.stop();
  checkpoints_.close(false);
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
  // Workers make them when they load; none of them has a step.
  for (const auto& entry :
       std::filesystem::directory_iterator(directory_.trace(), ignored))
    if (entry.path().extension() == ".jsonl")
      std::filesystem::remove(entry.path(), ignored);
  (void)fault_point("run.discard");
  // The folder was empty when this life took it.
  for (const char* name : {"job.json",
                           token_name,
                           "coordinator.json",
                           "workers.json",
                           "manifest.json",
                           data::quarantine_name,
                           data::chunk_table_name,
                           data::sample_table_name,
                           "events.jsonl",
                           "steps.jsonl",
                           "report.json",
                           parent_about_name,
                           parent_weights_name,
                           "ledger.sqlite",
                           "ledger.sqlite-wal",
                           "ledger.sqlite-shm",
                           "coordinator.lock",
                           "logs",
                           "trace",
                           "checkpoints",
                           "tmp"})
    std::filesystem::remove(folder / name, ignored); // no folder with content
  // All of it is the prepared set's.
  std::filesystem::remove_all(folder / data::preprocessing_name, ignored);
  if (!had_lock_)
    std::filesystem::remove(folder / "run.lock", ignored);
  if (!folder_was_there_)
    std::filesystem::remove(folder, ignored);
}

} // namespace ballast::actors
