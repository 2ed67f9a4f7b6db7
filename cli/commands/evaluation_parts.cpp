#include "cli/commands/evaluation_parts.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/job/asked_metrics.hpp"
#include "runtime/metrics/metric_values.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

namespace ballast::cli {

namespace {

using metrics::metric;
using nlohmann::json;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

/// Those of the job, and those that everybody asks for.
std::vector<metric> wanted(const data::trained_run& run) {
  std::vector<metric> out = asked_metrics(run.what);
  for (const metric one :
       {metric::f1_per_class, metric::roc_auc, metric::average_precision})
    if (task_of(run.what.train.loss) == metrics::task::classes &&
        metrics::misfit(one, run.row.classes).empty() &&
        std::find(out.begin(), out.end(), one) == out.end())
      out.push_back(one);
  return out;
}

std::shared_ptr<const metrics::layout> layout_of(const data::trained_run& run,
                                                 uint64_t rows) {
  return std::make_shared<const metrics::layout>(metrics::lay_out(
      task_of(run.what.train.loss), run.row.classes, wanted(run), rows));
}

/// "f1_per_class": [...] as "f1": {"CLASS": ...}.
ordered_json by_class_name(const ordered_json& values,
                           const data::trained_run& of) {
  constexpr std::string_view ending = "_per_class";
  ordered_json out = ordered_json::object();
  for (const auto& [name, value] : values.items()) {
    if (!name.ends_with(ending)) {
      if (!out.contains(name))
        out[name] = value;
      continue;
    }
    ordered_json classes = ordered_json::object();
    for (size_t i = 0; i < value.size(); ++i)
      classes[of.name_of_class(i)] = value[i];
    out[name.substr(0, name.size() - ending.size())] = std::move(classes);
  }
  return out;
}

} // namespace

std::shared_ptr<const metrics::layout>
evaluation_layout(const data::trained_run& run) {
  return layout_of(run, 1);
}

void write_part(const fs::path& file, const evaluated_part& what) {
  const json content = {
      {"loss", what.sums.loss},   {"correct", what.sums.correct},
      {"rows", what.sums.rows},   {"weight", what.sums.weight},
      {"reals", what.rows.reals}, {"ranked", what.rows.ranked},
      {"counts", what.counts}};
  const std::vector<uint8_t> bytes = json::to_cbor(content);
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            std::streamsize(bytes.size()));
  if (!out.flush())
    throw ballast_error(errc::run_dir_unusable,
                        printable(file.string()) + ": cannot be written");
}

evaluated_part read_part(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  const json content =
      json::from_cbor(std::vector<uint8_t>(std::istreambuf_iterator<char>(in),
                                           std::istreambuf_iterator<char>()),
                      true, false);
  try {
    evaluated_part out;
    out.sums = {content.at("loss"), content.at("correct"), content.at("rows"),
                content.at("weight")};
    out.rows.reals = content.at("reals").get<std::vector<double>>();
    out.rows.ranked = content.at("ranked").get<std::vector<double>>();
    out.counts = content.at("counts").get<std::vector<uint64_t>>();
    return out;
  } catch (const json::exception& why) {
    throw ballast_error(
        errc::run_dir_unusable,
        printable(file.string()) +
            ": was changed or removed while it was needed: " + why.what());
  }
}

judgement::judgement(const data::trained_run& of)
    : of_(of), exact_(evaluation_layout(of)) {
  all_.reals.resize(exact_->reals);
  counts_.resize(exact_->counts);
}

void judgement::add(const evaluated_part& part) {
  sums_ += part.sums;
  metrics::merge_reals(*exact_, all_.reals, part.rows.reals);
  for (size_t i = 0; i < std::min(counts_.size(), part.counts.size()); ++i)
    counts_[i] += part.counts[i];
  if (coarse_)
    return coarse_->sketch_ranked(part.rows.ranked);
  all_.ranked.insert(all_.ranked.end(), part.rows.ranked.begin(),
                     part.rows.ranked.end());
  if (all_.ranked.size() <= metrics::ranked_max)
    return;
  coarse_.emplace(layout_of(of_, std::numeric_limits<uint32_t>::max()));
  coarse_->sketch_ranked(all_.ranked);
  all_.ranked = {};
}

ordered_json judgement::to_json() const {
  metrics::totals found;
  found.reals = all_.reals;
  found.loss = sums_.loss / sums_.weight;
  found.accuracy = sums_.correct / sums_.rows;
  ordered_json out = {{"rows", rows()}, {"loss", found.loss}};
  metrics::metric_values values;
  if (coarse_) { // whose histograms come behind all other counts
    metrics::tally all = *coarse_;
    all.add_counts(counts_);
    found.counts = all.counts();
    values = metrics::values_of(all.of(), found);
  } else {
    found.counts = counts_;
    found.ranked = all_.ranked;
    values = metrics::values_of(*exact_, found);
  }
  out["metrics"] = by_class_name(metrics::values_json(values), of_);
  for (const auto& [key, what] :
       {std::pair("metrics_undefined", metrics::undefined_json(values)),
        std::pair("metrics_error_max", metrics::error_max_json(values))})
    if (!what.empty())
      out[key] = what;
  return out;
}

} // namespace ballast::cli
