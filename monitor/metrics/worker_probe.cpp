#include "monitor/metrics/exposition.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace ballast::monitor {

namespace {

using prometheus::Counter;
using prometheus::Family;
using prometheus::Histogram;
using prometheus::Labels;

} // namespace

struct worker_probe::metrics {
  metrics(const std::string& run, const std::string& worker)
      : out({{"run", run}, {"worker", worker}}) {}

  Histogram& phase(const char* name) {
    return step_seconds.Add({{"phase", name}}, step_buckets);
  }

  exposition out;
  Family<Histogram>& step_seconds = out.histograms("ballast_step_seconds");
  Histogram& data = phase("data");
  Histogram& compute = phase("compute");
  Histogram& reduce = phase("reduce");
  Histogram& optimize = phase("optimize");
  Counter& samples = out.counters("ballast_worker_samples_total").Add({});
  Counter& with_gradient =
      out.counters("ballast_worker_gradient_samples_total").Add({});
  Counter& bytes = out.counters("ballast_collective_bytes_total").Add({});
  Family<Counter>& read = out.counters("ballast_rows_read_bytes_total");
  Counter& from_origin = read.Add({{"source", "origin"}});
  Counter& from_set = read.Add({{"source", "prepared_set"}});
  Counter& from_kept = read.Add({{"source", "kept"}});
  std::map<errc, Counter*> errors =
      error_counters(out.counters("ballast_errors_total"));
};

worker_probe::worker_probe(const std::string& run, const std::string& worker)
    : metrics_(std::make_unique<metrics>(run, worker)) {}
worker_probe::~worker_probe() = default;

void worker_probe::step(const step_phases& seconds, uint64_t samples,
                        uint64_t with_gradient) {
  metrics_->data.Observe(seconds.data);
  metrics_->compute.Observe(seconds.compute);
  metrics_->reduce.Observe(seconds.reduce);
  metrics_->optimize.Observe(seconds.optimize);
  metrics_->samples.Increment(double(samples));
  metrics_->with_gradient.Increment(double(with_gradient));
}

void worker_probe::gpu(const gpu::gpu_reading& now) {
  exposition& out = metrics_->out;
  auto show = [&out](const char* name, const auto& value,
                     const Labels& labels = {}) {
    if (value)
      out.gauges(name).Add(labels).Set(double(*value));
  };
  show("ballast_gpu_utilization_ratio", now.utilization_ratio);
  show("ballast_gpu_memory_used_bytes", now.memory_used_bytes);
  show("ballast_gpu_memory_bytes", now.memory_bytes);
  show("ballast_gpu_power_watts", now.power_watts);
  show("ballast_gpu_temperature_celsius", now.temperature_celsius);
  if (now.clock_reasons)
    show("ballast_gpu_slowed", std::optional(is_slowed(now) ? 1 : 0));
  show("ballast_gpu_pcie_bytes_per_second", now.sent_bytes_per_second,
       {{"direction", "sent"}});
  show("ballast_gpu_pcie_bytes_per_second", now.received_bytes_per_second,
       {{"direction", "received"}});
  show("ballast_gpu_memory_errors", now.memory_errors);
  show("ballast_gpu_xid", std::optional(now.xid));
}

void worker_probe::collective_bytes(uint64_t bytes) {
  metrics_->bytes.Increment(double(bytes));
}

void worker_probe::rows_read(const data::bytes_read& so_far) {
  const auto raise = [](Counter& to, uint64_t bytes) {
    to.Increment(std::max(0.0, double(bytes) - to.Value()));
  };
  raise(metrics_->from_origin, so_far.origin);
  raise(metrics_->from_set, so_far.set);
  raise(metrics_->from_kept, so_far.kept);
}

void worker_probe::error(errc code) {
  if (code != errc::none)
    metrics_->errors.at(code)->Increment();
}

std::string worker_probe::text() const {
  return metrics_->out.text();
}

} // namespace ballast::monitor
