#include "monitor/audit_results.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/metrics/metric_values.hpp"
#include "store/json_lines.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

namespace ballast::monitor {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// As events.jsonl and report.json have them; infinities and what is undefined
/// are null there.
json told(double number) {
  return std::isfinite(number) ? json(number) : json();
}

/// Keys as in events.jsonl; accuracy only of classes.
json result_of(const evaluation_report& of, bool classes) {
  json out = {{"test_loss", told(of.loss)}};
  if (classes)
    out["test_accuracy"] = told(of.accuracy);
  if (!of.values.empty())
    out["metrics"] = metrics::values_json(of.values);
  return out;
}

/// The first key of which `line` has another value than `ours`.
std::string other_key(const json& ours, const json& line) {
  for (const auto& [key, value] : ours.items())
    if (line.value(key, json()) != value)
      return key;
  return "";
}

/// Lines of events.jsonl, by step. One that is undone is evaluated again.
std::map<uint64_t, std::vector<json>> evaluations_told(const fs::path& folder,
                                                       ledger::audit& into) {
  std::map<uint64_t, std::vector<json>> out;
  uint64_t last = 0;
  const auto use = [&](const json& line, uint64_t) {
    const uint64_t seq = line.at("seq").get<uint64_t>();
    if (seq != last + 1)
      into.problem("events.jsonl has event " + std::to_string(seq) +
                   " behind " + std::to_string(last) +
                   ": lines were removed, or put in");
    last = seq;
    if (line.value("kind", json()) == "evaluation" &&
        line.value("step", json()).is_number_unsigned())
      out[line["step"].get<uint64_t>()].push_back(line);
  };
  store::for_each_json_line(folder / "events.jsonl", use,
                            [](uint64_t, const std::string&) {});
  return out;
}

void check_told(const fs::path& folder, const store::journal_content& journal,
                ledger::audit& into) {
  const auto all = evaluations_told(folder, into);
  for (const evaluation_report& one : journal.evaluations) {
    const auto lines = all.find(value(one.step));
    if (lines == all.end()) // a power cut takes the newest lines
      continue;
    const std::vector<json>& told = lines->second;
    const json ours = result_of(one, told.back().contains("test_accuracy"));
    if (std::any_of(told.begin(), told.end(), [&](const json& line) {
          return other_key(ours, line).empty();
        }))
      continue;
    const std::string key = other_key(ours, told.back());
    into.problem("the evaluation after step " + to_string(one.step) + " has " +
                 key + " " + json_text(ours[key]) +
                 " in the ledger, events.jsonl has " +
                 json_text(told.back().value(key, json())));
  }
}

} // namespace

void epoch_loss::add(const json& line) {
  const epoch_number epoch{line.at("epoch").get<uint64_t>()};
  if (epoch != epoch_)
    before_ = std::exchange(last_, {});
  epoch_ = epoch;
  const json loss = line.value("loss", json());
  if (!loss.is_number()) // a power cut may have taken it
    return;
  const auto samples = line.at("samples").get<double>();
  last_.loss += loss.get<double>() * samples;
  last_.samples += samples;
}

bool epoch_loss::explains(double train_loss) const {
  constexpr double rounding = 1e-9; // of another order of sums
  const auto is_mean = [&](const sum& of) {
    const double mean = of.loss / of.samples;
    return std::abs(mean - train_loss) <=
           rounding * std::max(1.0, std::abs(mean));
  };
  return is_mean(last_) || is_mean(before_);
}

void check_results(const fs::path& folder,
                   const store::journal_content& journal, const json& report,
                   const epoch_loss& trained, ledger::audit& into) {
  check_told(folder, journal, into);
  if (!report.is_object())
    return;
  const json state = report.value("state", json());
  if (state != "done" && state != "stopped")
    return;
  if (const json loss = report.value("train_loss", json());
      loss.is_number() && !trained.explains(loss.get<double>()))
    into.problem("report.json has train_loss " + json_text(loss) +
                 ", which is not the mean of the steps in steps.jsonl");
  if (journal.evaluations.empty() ||
      report.value("test_loss", json()).is_null())
    return;
  json ours = result_of(journal.evaluations.back(),
                        !report.value("test_accuracy", json()).is_null());
  if (const auto values = ours.find("metrics"); values != ours.end()) {
    ours["test_metrics"] = *values;
    ours.erase("metrics");
  }
  if (const std::string key = other_key(ours, report); !key.empty())
    into.problem(
        "report.json has " + key + " " + json_text(report.value(key, json())) +
        ", the ledger's newest evaluation has " + json_text(ours[key]));
}

} // namespace ballast::monitor
