#include "actors/run_record.hpp"

#include "actors/past_run_reader.hpp"
#include "data/checkpoint_store.hpp"
#include "data/safetensors.hpp"
#include "monitor/audit_run.hpp"
#include "monitor/log.hpp"
#include "runtime/manifest.hpp"
#include "runtime/unique_fd.hpp"

#include <algorithm>
#include <fcntl.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace ballast {

namespace {

run_record::place make_place(const job& what, const std::string& folder,
                             const std::filesystem::path& base) {
  bool was_there = !folder.empty() && std::filesystem::exists(folder);
  return {was_there, folder.empty() ? run_directory::create(base, what.name)
                                    : run_directory::create_at(folder)};
}

constexpr const char* token_name = "run.key";

/// Whoever may read the token may speak as a worker of the run.
void write_secret(const std::filesystem::path& path, const std::string& text) {
  unique_fd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file ||
      ::write(file.get(), text.data(), text.size()) != ssize_t(text.size()))
    throw ballast_error(errc::run_dir_unusable,
                        "cannot write " + path.string());
}

std::string read_secret(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::string out;
  if (!(in >> out))
    throw ballast_error(errc::run_dir_unusable,
                        "there is no run to go on with: no " + path.string());
  return out;
}

} // namespace

run_record::run_record(place where, const std::optional<std::string>& token)
    : folder_was_there_(where.was_there),
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
  directory_.write_json("job.json", to_json(what));
  write_secret(directory_.file(token_name), token);
  announce(addresses);
}

run_record::run_record(const std::filesystem::path& folder,
                       const coordinator_addresses& addresses)
    : run_record({true, run_directory::adopt(folder)}, std::nullopt) {
  std::ifstream report(directory_.file("report.json"));
  if (report &&
      nlohmann::json::parse(report, nullptr, false).value("state", "") ==
          to_string(run_phase::done))
    throw ballast_error(errc::run_dir_unusable,
                        "the run in " + directory_.path().string() +
                            " is done: there is nothing to go on with");
  // Whatever was to stop it has: who resumes it wants it to go on.
  if (standing_requests asked = journal_->content().asked;
      report.is_open() && asked.stop) {
    asked.stop.reset();
    journal_->record_requests(asked);
  }
  // Its first event tells when it began, on the same clock.
  std::vector<event> first = events_->after(0, 1);
  if (!first.empty()) {
    auto told = nlohmann::json::parse(first[0].line, nullptr, false);
    std::chrono::nanoseconds began(told.value("t_ns", int64_t{0}));
    if (began.count() > 0 && began < started_.time_since_epoch())
      started_ = std::chrono::steady_clock::time_point(began);
  }
  announce(addresses);
}

void run_record::announce(const coordinator_addresses& addresses) {
  directory_.write_json("coordinator.json",
                        nlohmann::ordered_json{{"pid", getpid()},
                                               {"term", value(term_)},
                                               {"control", addresses.control},
                                               {"http", addresses.http}});
}

void run_record::go_on() {
  std::filesystem::remove(directory_.file("report.json"));
}

past_run run_record::past() {
  checkpoint_store(directory_.checkpoints()).remove_unfinished();
  past_run out = read_past_run(directory_.path(), open_journal().content());
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

void run_record::prepared(const job& what, const set_summary& set,
                          const std::string& manifest) {
  if (open_journal().content().run) {
    // Of an earlier life; what it journaled is about that set.
    std::ifstream in(directory_.file("manifest.json"));
    if (nlohmann::json::parse(in, nullptr, false) !=
        nlohmann::json::parse(manifest))
      throw ballast_error(errc::run_dir_unusable,
                          "the training data have changed since the run in " +
                              directory_.path().string() +
                              " began: it cannot go on with others");
    return;
  }
  directory_.write_file("manifest.json", manifest);
  open_journal().record_run({name_, what.seed, set.train_rows, to_json(what)});
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

void run_record::perform(const write_event& what) {
  if (what.kind == "generation" && what.fields.contains("phases_ms")) {
    std::map<std::string, double> phases;
    for (const auto& [phase, ms] : what.fields["phases_ms"].items())
      phases[phase] = ms.get<double>() / 1e3;
    probe_->recovered(what.fields.value("reason", ""), phases);
  }
  if (what.kind == "plan" && what.fields.value("outcome", "") == "dropped")
    probe_->plan(coordinator_probe::plan_outcome::dropped);
  events_->append(what.kind, what.fields);
}

void run_record::perform(const undo_steps& what) {
  open_journal().record_undo(what.to, what.epoch);
  step_number last = steps_.last();
  samples_ -=
      std::min(samples_, steps_.cut(what.to, directory_.file("undone.jsonl")));
  checkpoint_store(directory_.checkpoints()).remove_after(what.to);
  events_->append(
      "undone",
      {{"from", value(last)}, {"to", value(what.to)}, {"reason", what.reason}});
}

std::string run_record::checkpoint(position after, const std::string& state,
                                   uint32_t keep) {
  auto begun = std::chrono::steady_clock::now();
  stored_checkpoint made =
      checkpoint_store(directory_.checkpoints())
          .publish(after.step, after.epoch, name_, state, keep);
  double ms = std::chrono::duration<double, std::milli>(
                  std::chrono::steady_clock::now() - begun)
                  .count();
  probe_->checkpoint(ms / 1e3);
  events_->append("checkpoint", {{"step", value(after.step)},
                                 {"epoch", value(after.epoch)},
                                 {"bytes", state.size()},
                                 {"ms", ms}});
  return made.file.string();
}

void run_record::workers(const nlohmann::json& list) {
  directory_.write_json("workers.json", list);
}

void run_record::model(const std::string& safetensors,
                       const std::string& weights_sha256) {
  constexpr const char* unchecked = "model.safetensors.unchecked";
  directory_.write_file(unchecked, safetensors, run_directory::outlives::power);
  std::filesystem::path staged = directory_.file(unchecked);
  tensor_file file = read_safetensors(staged.string());
  // Buffers, like running means, are no parameters.
  auto buffers =
      nlohmann::json::parse(file.metadata["buffers"], nullptr, false);
  std::vector<tensor_view> parameters;
  for (const tensor_view& one : file.tensors)
    if (std::find(buffers.begin(), buffers.end(), one.name) == buffers.end())
      parameters.push_back(one);
  if (ballast::weights_sha256(parameters) != weights_sha256) {
    std::filesystem::remove(staged);
    throw ballast_error(errc::digest_mismatch,
                        "the fetched model is not the one that the workers "
                        "ended with (" +
                            weights_sha256.substr(0, 12) +
                            "...); it is not published");
  }
  std::filesystem::rename(staged, directory_.file("model.safetensors"));
}

std::string run_record::describe(const std::vector<row_ref>& rows) const {
  std::ifstream in(directory_.file("manifest.json"));
  return describe_rows(nlohmann::json::parse(in).get<manifest>(), rows);
}

nlohmann::ordered_json run_record::finish(run_report report) {
  report.wall_s = age_s();
  // A disk that is full loses the last steps: what counts is what is written.
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
  nlohmann::ordered_json out = to_json(report);
  directory_.write_json("report.json", out, run_directory::outlives::power);
  nlohmann::ordered_json fields{{"state", report.state},
                                {"steps", report.steps}};
  if (!report.reason.empty())
    fields["reason"] = report.reason;
  events_->append("done", fields);
  journal_.reset();
  return out;
}

void run_record::discard() {
  journal_.reset();
  std::error_code ignored;
  for (const auto& entry :
       std::filesystem::directory_iterator(directory_.path(), ignored))
    std::filesystem::remove_all(entry.path(), ignored);
  if (!folder_was_there_)
    std::filesystem::remove(directory_.path(), ignored);
}

double run_record::age_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() -
                                       started_)
      .count();
}

} // namespace ballast
