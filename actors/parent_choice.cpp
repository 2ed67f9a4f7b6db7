#include "actors/parent_choice.hpp"

#include "data/model/checkpoint_store.hpp"
#include "data/model/sha256.hpp"
#include "data/model/state_blocks.hpp"
#include "data/model/weights_file.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "store/json_file.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>
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

/// The names that no parameters are under.
std::set<std::string> buffers_in(const data::weights_file& file) {
  const auto found = file.metadata().find("buffers");
  std::set<std::string> out;
  if (found == file.metadata().end())
    return out;
  const json names = json::parse(found->second, nullptr, false);
  if (names.is_array())
    for (const json& one : names)
      if (one.is_string())
        out.insert(one.get<std::string>());
  return out;
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

/// As weights_sha256() has it, tensor by tensor.
std::string parameters_sha256_of(const data::weights_file& file) {
  const std::set<std::string> buffers = buffers_in(file);
  std::vector<const data::tensor_place*> parameters;
  for (const data::tensor_place& one : file.tensors())
    if (!data::is_beside_model(one.name) && !buffers.contains(one.name))
      parameters.push_back(&one);
  std::ranges::sort(parameters, {}, &data::tensor_place::name);
  data::sha256 hash;
  std::vector<float> values;
  for (const data::tensor_place* one : parameters) {
    uint64_t count = 1;
    for (const int64_t dimension : one->shape)
      count *= uint64_t(dimension);
    values.resize(count);
    file.read({{one, values}}, 1);
    hash.update(std::as_bytes(std::span(values)));
  }
  return hash.hex_digest();
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
    const auto name = file.metadata().find("ballast_run");
    out.run = name == file.metadata().end() ? what.file.string() : name->second;
    out.step = step_number{number_of_metadata(file, "step")};
    out.optimizer_steps = number_of_metadata(file, data::optimizer_steps_key);
    if (out.optimizer_steps == 0)
      out.optimizer_steps = value(out.step);
    out.sha256 = parameters_sha256_of(file);
    return out;
  } catch (const ballast_error& e) {
    if (e.what_failed().code == errc::invalid_job)
      throw;
    refuse_parent(e.what());
  }
}

} // namespace ballast::actors
