#include "monitor/history/run_history.hpp"

#include "runtime/metrics/metric_catalogue.hpp"

#include <nlohmann/json.hpp>

namespace ballast::monitor {

namespace {

/// Steps of less time together say little of the speed.
constexpr int64_t speed_window_ns = 500'000'000;

/// JSON has no number for what is not finite; there is none in a cell.
nlohmann::json json_of(const std::vector<series_cell>& cells) {
  nlohmann::json out{{"t_s", nlohmann::json::array()},
                     {"step", nlohmann::json::array()},
                     {"mean", nlohmann::json::array()},
                     {"least", nlohmann::json::array()},
                     {"most", nlohmann::json::array()}};
  for (const series_cell& one : cells) {
    out["t_s"].push_back(double(one.end_ns) / 1e9);
    out["step"].push_back(value(one.end));
    out["mean"].push_back(one.mean());
    out["least"].push_back(one.least);
    out["most"].push_back(one.most);
  }
  return out;
}

} // namespace

void run_history::add(const std::string& name, int64_t t_ns, step_number step,
                      double number, size_t cells) {
  auto at = series_.find(name);
  if (at == series_.end()) {
    if (series_.size() == series_max)
      return;
    at = series_.try_emplace(name, cells).first;
  }
  at->second.add(t_ns, step, number);
}

void run_history::measure_speed(const ledger::committed_step& step) {
  const auto t_ns = int64_t(step.t_ns);
  if (speed_.since_ns == 0) {
    speed_.since_ns = t_ns; // how long the first step took is not known
    return;
  }
  speed_.samples += step.samples;
  const int64_t took_ns = t_ns - speed_.since_ns;
  if (took_ns < speed_window_ns)
    return;
  add("samples_per_s", t_ns, step.step,
      double(speed_.samples) * 1e9 / double(took_ns));
  speed_ = {t_ns, 0};
}

void run_history::committed(std::span<const ledger::committed_step> steps) {
  const std::lock_guard lock(mutex_);
  for (const ledger::committed_step& one : steps) {
    add("loss", int64_t(one.t_ns), one.step, one.loss);
    add("world", int64_t(one.t_ns), one.step, one.world);
    measure_speed(one);
  }
}

void run_history::evaluated(int64_t t_ns,
                            const coordinator::events::evaluated& what) {
  const std::lock_guard lock(mutex_);
  add("test_loss", t_ns, what.step, what.loss);
  if (what.accuracy)
    add("test_accuracy", t_ns, what.step, *what.accuracy);
  for (const metrics::metric_value& one : what.values)
    if (one.numbers.size() == 1 && one.what != metrics::metric::accuracy)
      add("test_" + to_string(one.what), t_ns, what.step, one.numbers[0]);
}

void run_history::undone(step_number to) {
  const std::lock_guard lock(mutex_);
  for (auto& [name, one] : series_)
    one.cut_after(to);
  speed_ = {};
}

void run_history::status(const coordinator::run_status& now) {
  if (!now.run || !now.run->members)
    return;
  const int64_t t_ns = now.now.count();
  const step_number step = now.run->step;
  const std::lock_guard lock(mutex_);
  add("skew_tv_max", t_ns, step, now.run->skew_tv_max);
  add("makespan_ratio", t_ns, step, now.run->balance.makespan_ratio);
  add("moved_rows", t_ns, step, double(now.run->balance.moved_rows));
  for (const coordinator::worker_status& one : now.workers) {
    if (!one.rank)
      continue;
    const std::string of = "/" + one.name;
    add("samples_per_s" + of, t_ns, step, one.samples_per_s, worker_cells_max);
    if (one.share)
      add("batch" + of, t_ns, step, one.share->batch, worker_cells_max);
  }
}

std::vector<std::string> run_history::names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [name, one] : series_)
    if (!one.empty())
      out.push_back(name);
  return out;
}

nlohmann::json run_history::to_json(const series_query& what) const {
  nlohmann::json out = nlohmann::json::object();
  for (const std::string& name : what.names) {
    std::vector<series_cell> cells;
    {
      const std::lock_guard lock(mutex_);
      if (const auto at = series_.find(name); at != series_.end())
        cells = at->second.cells(what.from_ns, what.points_max);
    }
    out[name] = json_of(cells);
  }
  return {{"series", out}};
}

} // namespace ballast::monitor
