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
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace ballast::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

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
    if (tensor.empty())
      continue;
    out.problems.push_back("after step " + to_string(step) +
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

/// By epoch, loss and accuracy of the test part as their text.
std::map<uint64_t, std::string> tests_of(const fs::path& run) {
  std::map<uint64_t, std::string> out;
  for_each_line(run / "events.jsonl", "event", [&](const json& one) {
    if (one.at("kind") == "evaluation")
      out.insert_or_assign(
          one.at("epoch").get<uint64_t>(),
          "loss " + json_text(one.value("test_loss", json())) + ", accuracy " +
              json_text(one.value("test_accuracy", json())) + ", metrics " +
              json_text(one.value("metrics", json())));
  });
  return out;
}

void compare_tests(const fs::path& folder, const fs::path& run,
                   replay_report& out) {
  const std::map<uint64_t, std::string> again = tests_of(run);
  for (const auto& [epoch, was] : tests_of(folder)) {
    const auto is = again.find(epoch);
    // It is ended behind the last step, maybe before that epoch is evaluated.
    if (is == again.end())
      continue;
    ++out.tests_compared;
    if (is->second == was)
      continue;
    out.problems.push_back("the test part after epoch " +
                           std::to_string(epoch) + " has " + is->second +
                           ", had " + was + "; all before it agree");
    return;
  }
}

void compare_sums(const fs::path& folder, const fs::path& run,
                  const left_behind& left, replay_report& out) {
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
  const data::tensor_file before = data::read_safetensors(left.file.string());
  const data::weights_file after((run / left.file.filename()).string());
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
  const auto expected = again.find(left.after);
  if (expected == again.end())
    return;
  out.compared_file = left.file.string();
  const data::tensor_file file = data::read_safetensors(left.file.string());
  for (const auto& [name, digest] : expected->second.tensors) {
    data::content_hash hash;
    if (const data::tensor_view* one = file.find(name))
      hash.update(one->values.data(), one->values.size_bytes());
    if (data::hex16(hash.digest()) == digest)
      continue;
    out.problems.push_back(left.file.string() +
                           " has other parameters than there are after step " +
                           to_string(left.after) + ", first in '" + name + "'");
    return;
  }
}

} // namespace

step_number last_step(const fs::path& folder) {
  const auto losses = losses_of(folder);
  return step_number{losses.empty() ? 0 : losses.rbegin()->first};
}

std::optional<left_behind> what_it_left(const fs::path& folder,
                                        step_number committed) {
  const json report = store::read_json_file(folder / "report.json");
  const std::string state = report.is_object() ? report.value("state", "") : "";
  const fs::path model = folder / "model.safetensors";
  const fs::path last = folder / "last" / "model.safetensors"; // of keep.best
  if (state == "done" && fs::exists(model))
    return left_behind{model, committed, true};
  if (state == "stopped" && fs::exists(model))
    return left_behind{fs::exists(last) ? last : model, committed, false};
  if (!fs::is_directory(folder / "checkpoints"))
    return std::nullopt;
  const std::vector<data::stored_checkpoint> saved =
      data::checkpoint_store(folder / "checkpoints").list();
  for (auto one = saved.rbegin(); one != saved.rend(); ++one)
    if (one->problem.empty() && one->holds.step <= committed)
      return left_behind{one->file, one->holds.step, false};
  return std::nullopt;
}

void compare_runs(const fs::path& folder, const fs::path& run,
                  const std::optional<left_behind>& left, replay_report& out) {
  const digests_of_steps again = digests_of(run);
  compare_digests(folder, again, out);
  compare_losses(folder, run, out);
  compare_tests(folder, run, out);
  if (left && left->is_end)
    compare_sums(folder, run, *left, out);
  else if (left)
    compare_parameters(*left, again, out);
}

} // namespace ballast::cli
