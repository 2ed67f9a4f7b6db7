#include "cli/commands/replay_comparison.hpp"

#include "data/base/content_hash.hpp"
#include "data/model/checkpoint_store.hpp"
#include "data/model/weights_file.hpp"
#include "monitor/logs/digest_log.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "store/json_file.hpp"
#include "store/json_lines.hpp"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace ballast::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* model_name = "model.safetensors";

using digests_of_steps = std::map<step_number, monitor::step_digests>;

digests_of_steps digests_of(const fs::path& run) {
  digests_of_steps out;
  for (monitor::step_digests& one :
       monitor::read_digests(run / "digests.jsonl"))
    out.insert_or_assign(one.step, std::move(one));
  return out;
}

void compare_digests(const fs::path& folder, const digests_of_steps& again,
                     replay_report& out) {
  for (const auto& [step, was] : digests_of(folder)) {
    const auto is = again.find(step);
    if (is == again.end())
      continue;
    ++out.digests_compared;
    const std::string tensor = monitor::first_other(was, is->second);
    if (tensor.empty() && was.digest == is->second.digest)
      continue;
    out.problems.push_back(
        tensor.empty()
            ? "digests.jsonl has digest '" + was.digest + "' of step " +
                  to_string(step) + ", that of its tensors is '" +
                  is->second.digest + "': the line was changed"
            : "after step " + to_string(step) +
                  " the parameters differ, first in '" + tensor +
                  "'; all digests before it agree");
    return;
  }
}

void for_each_line(const fs::path& file, const std::string& what,
                   const std::function<void(const json&)>& use) {
  if (!store::for_each_line_of(file, what, use))
    throw ballast_error(errc::run_dir_unusable,
                        file.string() + " cannot be read");
}

/// The loss of each step, as its text.
std::map<uint64_t, std::string> losses_of(const fs::path& run) {
  std::map<uint64_t, std::string> out;
  for_each_line(run / "steps.jsonl", "step", [&](const json& one) {
    out.insert_or_assign(one.at("step").get<uint64_t>(),
                         json_text(one.at("loss")));
  });
  return out;
}

void compare_losses(const fs::path& folder, const fs::path& run,
                    replay_report& out) {
  const std::map<uint64_t, std::string> again = losses_of(run);
  for (const auto& [step, loss] : losses_of(folder)) {
    if (loss == "null") // a line that a resume has restored from the ledger
      continue;
    const auto is = again.find(step);
    ++out.losses_compared;
    if (is != again.end() && is->second == loss)
      continue;
    out.problems.push_back("the loss of step " + std::to_string(step) + " is " +
                           (is == again.end() ? "not there" : is->second) +
                           ", was " + loss + "; all before it agree");
    return;
  }
}

/// By step, what the test part came to: loss, accuracy and metrics by name.
std::map<uint64_t, std::map<std::string, json>> tests_of(const fs::path& run) {
  std::map<uint64_t, std::map<std::string, json>> out;
  for_each_line(run / "events.jsonl", "event", [&](const json& one) {
    if (one.at("kind") != "evaluation")
      return;
    std::map<std::string, json> found{
        {"loss", one.value("test_loss", json())},
        {"accuracy", one.value("test_accuracy", json())}};
    const json metrics = one.value("metrics", json::object());
    for (const auto& [name, value] : metrics.items())
      found.emplace(name, value);
    out.insert_or_assign(one.at("step").get<uint64_t>(), std::move(found));
  });
  return out;
}

void compare_tests(const fs::path& folder, const fs::path& run,
                   replay_report& out) {
  const auto again = tests_of(run);
  for (const auto& [step, had] : tests_of(folder)) {
    const auto has = again.find(step);
    // It is ended behind the last step, maybe before that is evaluated.
    if (has == again.end())
      continue;
    ++out.tests_compared;
    for (const auto& [name, was] : had) {
      const auto is = has->second.find(name);
      // Other metrics may have been asked for since.
      if (is == has->second.end() || json_text(is->second) == json_text(was))
        continue;
      out.problems.push_back("the test part after step " +
                             std::to_string(step) + " has " + name + " " +
                             json_text(is->second) + ", had " + json_text(was) +
                             "; all before it agree");
      return;
    }
  }
}

/// Of two runs that came to the end of their job.
void compare_sums(const fs::path& folder, const fs::path& run,
                  replay_report& out) {
  const auto sum_of = [](const fs::path& of) {
    const json report = store::read_json_file(of / "report.json");
    return report.is_object() ? report.value("weights_sha256", "") : "";
  };
  const std::string was = sum_of(folder);
  const std::string is = sum_of(run);
  if (was == is) {
    out.weights_sha256 = was;
    return;
  }
  std::string tensor;
  const data::tensor_file before =
      data::read_safetensors((folder / model_name).string());
  const data::weights_file after((run / model_name).string());
  for (const data::tensor_view& one : before.tensors)
    if (const data::tensor_place* same = after.find(one.name);
        tensor.empty() && (!same || !after.equals(*same, one.values)))
      tensor = ", first '" + one.name + "'";
  out.problems.push_back("the model differs" + tensor + ": weights_sha256 is " +
                         is + ", was " + was);
}

/// The parameters in the file, with the digests that they should have.
void compare_parameters(const left_behind& left, const digests_of_steps& again,
                        replay_report& out) {
  data::tensor_file file;
  try {
    file = data::read_safetensors(left.file.string());
  } catch (const ballast_error& unreadable) {
    return out.problems.push_back(unreadable.what_failed().message);
  }
  const auto expected = again.find(left.after);
  if (expected == again.end())
    return out.problems.push_back(
        left.file.string() + " says that it is of step " +
        to_string(left.after) + ", to which the run does not come");
  for (const auto& [name, digest] : expected->second.tensors) {
    data::content_hash hash;
    if (const data::tensor_view* one = file.find(name))
      hash.update(one->values.data(), one->values.size_bytes());
    if (data::hex16(hash.digest()) == digest)
      continue;
    return out.problems.push_back(
        left.file.string() +
        " has other parameters than there are after step " +
        to_string(left.after) + ", first in '" + name + "'");
  }
  out.compared_files.push_back(left.file.string());
}

/// That it says itself.
step_number step_of(const fs::path& model) {
  try {
    const data::weights_file file(model.string());
    const auto step = file.metadata().find("step");
    return step_number{step == file.metadata().end()
                           ? 0
                           : std::strtoull(step->second.c_str(), nullptr, 10)};
  } catch (const ballast_error&) {
    return {};
  }
}

} // namespace

step_number last_step(const fs::path& folder) {
  const auto losses = losses_of(folder);
  return step_number{losses.empty() ? 0 : losses.rbegin()->first};
}

bool has_ended(const fs::path& folder) {
  const json report = store::read_json_file(folder / "report.json");
  return report.is_object() && report.value("state", json()) == json("done");
}

std::vector<left_behind> what_it_left(const fs::path& folder,
                                      step_number committed) {
  std::vector<left_behind> out;
  const bool ended = has_ended(folder);
  const fs::path model = folder / model_name;
  const fs::path last = folder / "last" / model_name; // of keep.best
  std::error_code none;
  if (!ended && fs::exists(model, none))
    out.push_back({model, step_of(model)});
  if (fs::exists(last, none))
    out.push_back({last, step_of(last)});
  if (ended || !fs::is_directory(folder / "checkpoints", none))
    return out;
  const std::vector<data::stored_checkpoint> saved =
      data::checkpoint_store(folder / "checkpoints").list();
  for (auto one = saved.rbegin(); one != saved.rend(); ++one)
    if (one->problem.empty() && one->holds.step <= committed) {
      out.push_back({one->file, one->holds.step});
      break;
    }
  return out;
}

void compare_runs(const fs::path& folder, const fs::path& run,
                  const std::vector<left_behind>& left, replay_report& out) {
  const digests_of_steps again = digests_of(run);
  compare_digests(folder, again, out);
  compare_losses(folder, run, out);
  compare_tests(folder, run, out);
  if (has_ended(folder))
    compare_sums(folder, run, out);
  for (const left_behind& one : left)
    compare_parameters(one, again, out);
}

} // namespace ballast::cli
