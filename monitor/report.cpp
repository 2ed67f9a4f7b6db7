#include "monitor/report.hpp"

#include "monitor/spent_time_json.hpp"

#include <nlohmann/json.hpp>

namespace ballast::monitor {

namespace {

using ordered_json = nlohmann::ordered_json;

template <class T>
ordered_json or_null(const std::optional<T>& field) {
  return field ? ordered_json(*field) : ordered_json(nullptr);
}

ordered_json recoveries_of(const std::vector<recovery>& in) {
  ordered_json out = ordered_json::array();
  for (const recovery& one : in)
    out.push_back({{"reason", one.reason}, {"ms", one.ms}});
  return out;
}

ordered_json audit_of(const std::optional<audit_result>& in) {
  if (!in)
    return nullptr;
  ordered_json out{{"expected", in->expected},
                   {"once", in->once},
                   {"lost", in->lost},
                   {"repeated", in->repeated}};
  if (!in->problem.empty())
    out["problem"] = in->problem;
  return out;
}

} // namespace

ordered_json to_json(const run_report& in) {
  ordered_json out = {
      {"state", in.state},
      {"epochs", in.epochs},
      {"steps", in.steps},
      {"samples", in.samples},
      {"wall_s", or_null(in.wall_s)},
      {"samples_per_s", or_null(in.samples_per_s)},
      {"train_loss", or_null(in.train_loss)},
      {"test_loss", or_null(in.test_loss)},
      {"test_accuracy", or_null(in.test_accuracy)},
  };
  metrics::add_values(out, "test_", in.test_values);
  if (in.best)
    out["best"] = {{"metric", in.best->metric},
                   {"value", in.best->value},
                   {"epoch", in.best->epoch},
                   {"step", in.best->step}};
  if (in.time)
    out["time_s"] = to_json(*in.time);
  out.update({
      {"generations", or_null(in.generations)},
      {"recoveries", recoveries_of(in.recoveries)},
      {"moved_samples", or_null(in.moved_samples)},
      {"moved_bytes", or_null(in.moved_bytes)},
      {"moved_bound_samples", or_null(in.moved_bound_samples)},
      {"skew_tv_start", or_null(in.skew_tv_start)},
      {"skew_tv_max", or_null(in.skew_tv_max)},
      {"weights_sha256", or_null(in.weights_sha256)},
      {"model_step", or_null(in.model_step)},
      {"audit", audit_of(in.audit)},
  });
  if (!in.lineage.empty())
    out["lineage"] = in.lineage;
  if (in.importance)
    out["importance"] = {
        {"worker_steps", in.importance->worker_steps},
        {"drawn", in.importance->drawn},
        {"mean_rows", in.importance->mean_rows},
        {"mean_gradient_rows", in.importance->mean_gradient_rows}};
  if (in.importance && in.importance->since_step > 0)
    out["importance"]["since_step"] = in.importance->since_step;
  if (!in.reason.empty())
    out["reason"] = in.reason;
  return out;
}

} // namespace ballast::monitor
