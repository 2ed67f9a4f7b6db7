#include "actors/parent_choice.hpp"

#include "data/model/checkpoint_store.hpp"
#include "data/model/parameters_digest.hpp"
#include "data/model/state_blocks.hpp"
#include "data/model/weights_file.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "store/json_file.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fcntl.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

namespace ballast::actors {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

const std::string from_pointer = "/init/from";
constexpr const char* model_file_name = "model.safetensors";
constexpr uint32_t parent_check_threads = 4;

[[noreturn]] void refuse_parent(const std::string& why,
                                const std::string& pointer = from_pointer) {
  throw ballast_error(errc::invalid_job,
                      pointer + ": " + why + "; nothing was begun", pointer);
}

std::string printed(const fs::path& path) {
  return printable(path.string());
}

bool is_parent_file(const fs::path& path) {
  std::error_code none;
  return fs::is_regular_file(path, none);
}

std::vector<data::stored_checkpoint> checkpoints_of(const fs::path& folder) {
  return data::checkpoint_store(folder / "checkpoints").list();
}

/// "100, 200 and 300", of those that can be used.
std::string steps_there(const std::vector<data::stored_checkpoint>& all) {
  constexpr size_t told_max = 12;
  std::vector<std::string> steps;
  for (const data::stored_checkpoint& one : all)
    if (one.problem.empty())
      steps.push_back(to_string(one.holds.step));
  if (steps.empty())
    return "it has none";
  std::string out =
      steps.size() == 1 ? "it has that of step " : "it has those of the steps ";
  if (steps.size() > told_max) {
    out += "from " + steps.front() + " on: .., ";
    steps.erase(steps.begin(), steps.end() - told_max);
  }
  for (size_t i = 0; i < steps.size(); ++i)
    out += (i == 0 ? "" : i + 1 == steps.size() ? " and " : ", ") + steps[i];
  return out;
}

void check_is_a_run(const fs::path& folder) {
  for (const char* name : {"job.json", "ledger.sqlite", model_file_name})
    if (is_parent_file(folder / name))
      return;
  refuse_parent(printed(folder) +
                " holds no run: it has neither job.json nor " +
                model_file_name);
}

parent_choice chosen_checkpoint(const fs::path& folder, step_number step) {
  const auto all = checkpoints_of(folder);
  for (const data::stored_checkpoint& one : all)
    if (one.holds.step == step && one.problem.empty())
      return {one.file, folder, true};
    else if (one.holds.step == step)
      refuse_parent("the checkpoint of step " + to_string(step) + " in " +
                    printed(folder) + " cannot be used: " + one.problem);
  refuse_parent(printed(folder) + " has no checkpoint of step " +
                to_string(step) + "; " + steps_there(all));
}

bool keeps_best(const fs::path& folder) {
  const json job = store::read_json_file(folder / "job.json");
  const json::json_pointer metric("/keep/best/metric");
  return job.is_object() && job.contains(metric) && job[metric].is_string() &&
         job[metric] != "";
}

/// Once it is over its model is the best one; before, checkpoints have that
/// beside the newest state.
parent_choice best_of_run(const fs::path& folder) {
  if (!keeps_best(folder))
    refuse_parent(
        printed(folder) +
        " kept no best model: its job has no /keep/best/metric; expected a "
        "step behind the '@', or nothing");
  const json report = store::read_json_file(folder / "report.json");
  if (report.is_object() && report.value("state", json()) == "failed" &&
      !is_parent_file(folder / model_file_name))
    refuse_parent(printed(folder) +
                  " failed, and left no model; expected the step of a "
                  "checkpoint behind the '@': " +
                  steps_there(checkpoints_of(folder)));
  if (!report.is_object() && is_parent_file(folder / "card.json"))
    refuse_parent(printed(folder) +
                  " is an exported model, not a run: it is the best one if "
                  "its run kept that; expected no '@best'");
  if (!report.is_object() || !is_parent_file(folder / model_file_name))
    refuse_parent(printed(folder) +
                  " goes on, or was killed: what is its best model is known "
                  "once it has ended; expected `ballast ctl stop` or `ballast "
                  "run --resume` first, or the step of a checkpoint");
  if (!report.contains("best"))
    refuse_parent(printed(folder) +
                  " has no best model: it ended before its first evaluation");
  return {folder / model_file_name, folder, false};
}

parent_choice newest_of_run(const fs::path& folder) {
  if (is_parent_file(folder / model_file_name))
    return {folder / model_file_name, folder, false};
  const auto all = checkpoints_of(folder);
  for (auto one = all.rbegin(); one != all.rend(); ++one)
    if (one->problem.empty())
      return {one->file, folder, true};
  refuse_parent(printed(folder) + " has neither " + model_file_name +
                " nor a checkpoint: " +
                (all.empty()
                     ? "the run has saved nothing yet"
                     : "that of step " + to_string(all.back().holds.step) +
                           " cannot be used: " + all.back().problem));
}

uint64_t number_of_metadata(const data::weights_file& file,
                            const std::string& key) {
  const auto found = file.metadata().find(key);
  return found == file.metadata().end()
             ? 0
             : std::strtoull(found->second.c_str(), nullptr, 10);
}

bool is_optimizers(const data::tensor_place& one) {
  return one.name.starts_with(data::optimizer_prefix);
}

std::vector<std::string> wanted_state(const optimizer_spec& how) {
  if (how.kind != optimizer_kind::sgd)
    return {"exp_avg", "exp_avg_sq"};
  return how.momentum != 0 ? std::vector<std::string>{"momentum_buffer"}
                           : std::vector<std::string>{};
}

void check_its_optimizer(const parent_choice& what,
                         const data::weights_file& file, const job& begins) {
  const std::string pointer = "/init/optimizer";
  const optimizer_spec& how = begins.train.optimizer;
  const auto wanted = wanted_state(how);
  const bool has_state =
      what.checkpoint || std::ranges::any_of(file.tensors(), is_optimizers);
  if (!has_state && (!what.folder.empty() || !wanted.empty()))
    refuse_parent(printed(what.file) +
                      " is a model, which has no optimizer's state; expected a "
                      "checkpoint, as in RUN_DIR@STEP, or false",
                  pointer);
  const json theirs = what.folder.empty()
                          ? json()
                          : store::read_json_file(what.folder / "job.json");
  const json::json_pointer kind("/train/optimizer/kind");
  if (theirs.is_object() && theirs.contains(kind) &&
      theirs[kind] != to_string(how.kind))
    refuse_parent(
        "\"" + to_string(how.kind) + "\" cannot go on with the state of " +
            json_text(theirs[kind]) + " (/init/optimizer); expected that",
        "/train/optimizer/kind");
  for (const std::string& name : wanted)
    if (!file.find(data::optimizer_prefix + name))
      refuse_parent(
          printed(what.file) + " has no '" + name +
              "', which /train/optimizer of this job needs: it was made by "
              "another optimizer; expected the same one, or false",
          pointer);
}

/// Nothing can be learned from there.
void refuse_not_finite(const data::tensor_place& of,
                       std::span<const float> values) {
  const auto bad = std::ranges::find_if(
      values, [](float one) { return !std::isfinite(one); });
  if (bad != values.end())
    refuse_parent("'" + printable(of.name) + "' holds " +
                  (std::isnan(*bad) ? "NaN" : "an infinite number") + " at " +
                  std::to_string(bad - values.begin()));
}

void read_names(const fs::path& folder, run_parent& into) {
  if (folder.empty())
    return;
  json about = store::read_json_file(folder / "manifest.json");
  if (!about.is_object())
    about = store::read_json_file(folder / "set.json");
  if (!about.is_object())
    return;
  try {
    into.class_names = about.value("class_names", into.class_names);
    into.columns = about.value("columns", into.columns);
  } catch (const json::exception&) {
    return; // nobody's names
  }
}

/// A model is what the run ended with; a checkpoint has checksums of its own.
void check_named(const parent_choice& what, const std::string& sha256) {
  if (what.checkpoint || what.folder.empty())
    return;
  const auto told = data::told_parameters_sha256(what.folder);
  if (told && *told != sha256)
    refuse_parent(printed(what.file) +
                  " holds other parameters than its run ended with: the "
                  "weights_sha256 beside it is " +
                  *told +
                  "; expected a whole copy, or a checkpoint, as in "
                  "RUN_DIR@STEP");
}

/// Keeps what it reads from going away: a run that goes on removes its older
/// checkpoints.
std::shared_ptr<const unique_fd> held_open(const fs::path& file) {
  unique_fd out(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!out)
    refuse_parent("cannot read " + printed(file) + ": " +
                  std::generic_category().message(errno));
  return std::make_shared<const unique_fd>(std::move(out));
}

} // namespace

parent_choice choose_parent(const std::string& from) {
  const fs::path path =
      from.ends_with('/') ? fs::path(from).parent_path() : fs::path(from);
  std::error_code none;
  if (fs::is_directory(path, none)) {
    check_is_a_run(path);
    return newest_of_run(path);
  }
  if (fs::exists(path, none))
    return {path, {}, false};
  const size_t at = from.rfind('@');
  const fs::path folder(at == std::string::npos ? from : from.substr(0, at));
  if (at == std::string::npos || !fs::exists(folder, none))
    refuse_parent("there is no such file or folder: " + printed(folder));
  if (!fs::is_directory(folder, none))
    refuse_parent(printed(folder) +
                  " is no folder of a run; expected one before '@'");
  check_is_a_run(folder);
  const std::string which = from.substr(at + 1);
  if (which == "best")
    return best_of_run(folder);
  uint64_t step = 0;
  const auto read =
      std::from_chars(which.data(), which.data() + which.size(), step);
  if (read.ec != std::errc() || read.ptr != which.data() + which.size() ||
      step == 0)
    refuse_parent(
        "'@" + printable(which) +
        "' names no checkpoint; expected the number of a step, or best");
  return chosen_checkpoint(folder, step_number{step});
}

run_parent look_at(const parent_choice& what, const job& begins) {
  try {
    if (what.checkpoint)
      data::check_state_file(what.file, data::checksums_beside(what.file),
                             parent_check_threads);
    const data::weights_file file(what.file.string());
    if (begins.init.optimizer)
      check_its_optimizer(what, file, begins);
    run_parent out;
    out.file = what.file;
    out.open = held_open(what.file);
    const auto name = file.metadata().find("ballast_run");
    out.run = name == file.metadata().end() ? what.file.string() : name->second;
    out.step = step_number{number_of_metadata(file, "step")};
    out.optimizer_steps = number_of_metadata(file, data::optimizer_steps_key);
    if (out.optimizer_steps == 0)
      out.optimizer_steps = value(out.step);
    out.sha256 = data::parameters_sha256(file, refuse_not_finite);
    check_named(what, out.sha256);
    read_names(what.folder, out);
    return out;
  } catch (const ballast_error& e) {
    if (e.what_failed().code == errc::invalid_job)
      throw;
    refuse_parent(printable(e.what()));
  }
}

} // namespace ballast::actors
