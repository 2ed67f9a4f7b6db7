/// Every metric of Ballast: one catalogue, and the probes through which the
/// rest of the code reports events. Only this folder knows metric names.
///
/// Labels: `run` on everything but build_info, `worker`, and small closed sets
/// (phase, state, outcome, code). Metrics of the whole run are exported by the
/// coordinator only. Every method from any thread; none blocks on I/O.
#pragma once

#include "data/loader/row_source.hpp"
#include "gpu/gpu_health.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/coordinator/run_event.hpp"
#include "runtime/coordinator/run_status.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::monitor {

enum class metric_type : uint8_t { counter, gauge, histogram };

struct metric_entry {
  std::string_view name;
  metric_type type;
  std::string_view unit; // base unit, "" for plain numbers
  std::string_view labels;
  std::string_view exporter; // coordinator, worker, every process
  std::string_view help;
};

std::span<const metric_entry> metric_catalogue();
/// The text of docs/metrics.md.
std::string metric_reference();

/// /metrics of a node without a job: build_info only.
std::string idle_metrics();

/// The values of run_state; exactly one is 1.
std::span<const std::string_view> run_states();

class coordinator_probe {
public:
  explicit coordinator_probe(const std::string& run);
  ~coordinator_probe();

  /// A step is committed. `loss` is its mean, `samples` its size.
  void committed(step_number step, epoch_number epoch, uint64_t samples,
                 double loss);
  void generation(ballast::generation number);
  void world(uint32_t workers);

  void state(std::string_view state); // one of run_states()
  /// Gauges that follow from the state of the run, not from events. Workers
  /// that own nothing any more are no longer exported.
  void status(const coordinator::run_status& now);

  enum class plan_outcome { offered, effective, dropped };
  void plan(plan_outcome outcome);
  /// Something happened that a line of events.jsonl tells, or would tell if
  /// there were not so many like it.
  void event(const coordinator::run_event& what);

  /// Prometheus text exposition.
  std::string text() const;

private:
  struct metrics;
  std::unique_ptr<metrics> metrics_;
};

/// Seconds that one step spent in each phase. `reduce` is the part that compute
/// did not hide.
struct step_phases {
  double data = 0;
  double compute = 0;
  double reduce = 0;
  double optimize = 0;
};

class worker_probe {
public:
  worker_probe(const std::string& run, const std::string& worker);
  ~worker_probe();

  /// A step is applied here; `samples` of it were this worker's, and it
  /// computed the gradient of so many of these.
  void step(const step_phases& seconds, uint64_t samples,
            uint64_t with_gradient);
  /// Sent by the collective.
  void collective_bytes(uint64_t bytes);
  /// Since the run began on this worker.
  void rows_read(const data::bytes_read& so_far);
  void error(errc code);
  /// The readings of the worker's GPU; missing ones are not exported.
  void gpu(const gpu::gpu_reading& now);

  std::string text() const;

private:
  struct metrics;
  std::unique_ptr<metrics> metrics_;
};

} // namespace ballast::monitor
