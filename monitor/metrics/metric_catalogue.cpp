#include "monitor/metrics/metrics.hpp"
#include "runtime/coordinator/run_phase.hpp"

#include <string>

namespace ballast::monitor {

namespace {

constexpr auto counter = metric_type::counter;
constexpr auto gauge = metric_type::gauge;
constexpr auto histogram = metric_type::histogram;

// name, type, unit, labels, exporter, help
constexpr metric_entry catalogue[] = {
    {"ballast_build_info", gauge, "", "version", "every process",
     "Always 1; the label says which build this process runs."},
    {"ballast_run_state", gauge, "", "run, state", "coordinator",
     "1 for the state that the run is in, 0 for the others."},
    {"ballast_last_commit_timestamp_seconds", gauge, "seconds", "run",
     "coordinator", "Unix time of the newest committed step."},
    {"ballast_steps_committed_total", counter, "", "run", "coordinator",
     "Steps that every member of their generation has applied."},
    {"ballast_samples_committed_total", counter, "samples", "run",
     "coordinator", "Samples in committed steps."},
    {"ballast_loss", gauge, "", "run", "coordinator",
     "Mean training loss over the samples of the newest committed step."},
    {"ballast_epoch", gauge, "", "run", "coordinator",
     "Epoch of the newest committed step, from 1."},
    {"ballast_evaluation_loss", gauge, "", "run", "coordinator",
     "Mean loss of the test rows after the last epoch that was evaluated."},
    {"ballast_evaluation_accuracy", gauge, "ratio", "run", "coordinator",
     "Part of the test rows that were classified correctly then. Absent where "
     "labels are no classes."},
    {"ballast_evaluation_metric", gauge, "", "run, metric", "coordinator",
     "A metric of the test rows then (docs/metrics-of-models.md), if it is one "
     "number and defined; those that the job computes."},
    {"ballast_generation", gauge, "", "run", "coordinator",
     "Number of the membership in force."},
    {"ballast_world_size", gauge, "", "run", "coordinator",
     "Workers of the membership in force."},
    {"ballast_worker_samples_per_second", gauge, "samples per second",
     "run, worker", "coordinator",
     "Samples a worker consumed per second, waiting included."},
    {"ballast_worker_batch_samples", gauge, "samples", "run, worker",
     "coordinator", "A worker's part of a full global batch."},
    {"ballast_worker_samples_owned", gauge, "samples", "run, worker",
     "coordinator", "Rows of the training set that a worker owns."},
    {"ballast_worker_skew_tv", gauge, "ratio", "run, worker", "coordinator",
     "Total variation distance, 0 to 1, between the labels of the rows a "
     "worker owns and those of the training set."},
    {"ballast_skew_tv_max", gauge, "ratio", "run", "coordinator",
     "The largest skew of a worker."},
    {"ballast_worker_copy_bytes_per_second", gauge, "bytes per second",
     "run, worker", "coordinator",
     "How fast chunks come to a worker while they are copied: median of the "
     "newest copies. Absent before the first few."},
    {"ballast_heartbeat_age_seconds", gauge, "seconds", "run, worker",
     "coordinator", "Time since a worker was last heard of."},
    {"ballast_worker_time_seconds_total", counter, "seconds",
     "run, worker, cause", "coordinator",
     "Where a worker's time went since this coordinator knows it: compute, "
     "data, straggler, communication, evaluation, start, recovery, paused, "
     "waiting, other. They sum to the time that it was connected."},
    {"ballast_plans_total", counter, "", "run, outcome", "coordinator",
     "Plans by what became of them: offered, effective, dropped."},
    {"ballast_balance_makespan_ratio", gauge, "ratio", "run", "coordinator",
     "Time of a step as the batch is split now, by measured speeds, over that "
     "of the best split: 1 = nothing to win."},
    {"ballast_moves_in_flight", gauge, "", "run", "coordinator",
     "Chunks that are on their way to a new owner, for balance."},
    {"ballast_moved_samples_total", counter, "samples", "run, reason",
     "coordinator",
     "Rows that got a new owner for balance, because of skew, of size (a "
     "worker owned more than its part) or of coverage (one worker alone held a "
     "class); repair is not counted."},
    {"ballast_moved_bound_samples_total", counter, "samples", "run",
     "coordinator", "The fewest rows that had to move for what was reached."},
    {"ballast_moved_bytes_total", counter, "bytes", "run", "coordinator",
     "Bytes that workers copied from each other for balance."},
    {"ballast_recoveries_total", counter, "", "run, reason", "coordinator",
     "Returns to training after a loss, by what was lost: crash, silence, "
     "evicted, coordinator, bits, other."},
    {"ballast_recovery_seconds", histogram, "seconds", "run, phase",
     "coordinator",
     "Time of a recovery by phase: detect, fence, plan, open, sync, "
     "first_step."},
    {"ballast_checkpoint_seconds", histogram, "seconds", "run", "coordinator",
     "Time to write a checkpoint; training goes on meanwhile."},
    {"ballast_checkpoint_pause_seconds", gauge, "seconds", "run", "coordinator",
     "By how much a checkpoint holds training up: the steps until it is on the "
     "disk, over as many usual ones; median of the newest. Absent before the "
     "first."},
    {"ballast_checkpoint_best_interval_seconds", gauge, "seconds", "run",
     "coordinator",
     "Time from one checkpoint to the next with which the least is lost, by "
     "that pause and by how often the state was lost (if never: once a day is "
     "assumed)."},
    {"ballast_errors_total", counter, "", "run, code (worker: also worker)",
     "coordinator, worker", "Errors by code; docs/errors.md explains them."},
    {"ballast_step_seconds", histogram, "seconds", "run, worker, phase",
     "worker",
     "Time of one step by phase: data (waiting for the batch), compute, reduce "
     "(what compute did not hide), optimize."},
    {"ballast_worker_samples_total", counter, "samples", "run, worker",
     "worker", "Samples of this worker in steps that it applied."},
    {"ballast_worker_gradient_samples_total", counter, "samples", "run, worker",
     "worker",
     "Of these, the samples whose gradient it computed: fewer while importance "
     "sampling draws among them."},
    {"ballast_collective_bytes_total", counter, "bytes", "run, worker",
     "worker", "Bytes that the collective has sent, mostly of gradients."},
    {"ballast_rows_read_bytes_total", counter, "bytes", "run, worker, source",
     "worker",
     "Bytes of rows that came into the worker's memory, by where from: "
     "`origin`, `prepared_set` (on a disk of this machine) or `kept` (chunks "
     "that the worker keeps on a disk)."},
    {"ballast_gpu_utilization_ratio", gauge, "ratio", "run, worker", "worker",
     "Part of the last second in which the worker's GPU ran a kernel."},
    {"ballast_gpu_memory_used_bytes", gauge, "bytes", "run, worker", "worker",
     "Memory of the GPU in use, by whomever."},
    {"ballast_gpu_memory_bytes", gauge, "bytes", "run, worker", "worker",
     "Memory of the GPU."},
    {"ballast_gpu_power_watts", gauge, "watts", "run, worker", "worker",
     "What the GPU draws."},
    {"ballast_gpu_temperature_celsius", gauge, "celsius", "run, worker",
     "worker", "Temperature of the GPU."},
    {"ballast_gpu_slowed", gauge, "", "run, worker", "worker",
     "1 while heat, the power supply or the hardware lowers the GPU's clock; a "
     "power cap does not count."},
    {"ballast_gpu_pcie_bytes_per_second", gauge, "bytes per second",
     "run, worker, direction", "worker",
     "What the GPU moves over PCIe: sent, received."},
    {"ballast_gpu_memory_errors", gauge, "", "run, worker", "worker",
     "Memory errors of the GPU that were not corrected, since its driver was "
     "loaded."},
    {"ballast_gpu_xid", gauge, "", "run, worker", "worker",
     "The newest critical error that the GPU's driver reported; 0: none."},
};

std::string_view type_name(metric_type type) {
  switch (type) {
  case metric_type::counter:
    return "counter";
  case metric_type::gauge:
    return "gauge";
  case metric_type::histogram:
    return "histogram";
  }
  return "";
}

} // namespace

std::span<const metric_entry> metric_catalogue() {
  return catalogue;
}

std::span<const std::string_view> run_states() {
  return words_of<coordinator::run_phase>;
}

std::string metric_reference() {
  std::string out =
      "# Metrics\n"
      "\n"
      "Every process serves its own at `/metrics`, in the Prometheus text\n"
      "format; what belongs to the whole run is exported by the coordinator\n"
      "only. The label `run` is the name of the run directory, `worker` the\n"
      "name of the worker. Between jobs a node exports `ballast_build_info`\n"
      "only.\n"
      "\n"
      "This page is generated from `monitor/metrics/metric_catalogue.cpp`; the "
      "test\n"
      "`monitor_tests` compares them, and rewrites the page when\n"
      "`BALLAST_UPDATE_DOCS=1` is set.\n"
      "\n"
      "| name | type | unit | labels | exported by | meaning |\n"
      "|---|---|---|---|---|---|\n";
  for (const metric_entry& entry : catalogue) {
    out += "| `" + std::string(entry.name) + "` | ";
    out += std::string(type_name(entry.type)) + " | ";
    out += std::string(entry.unit) + " | ";
    out += std::string(entry.labels) + " | ";
    out += std::string(entry.exporter) + " | ";
    out += std::string(entry.help) + " |\n";
  }
  out += "\nValues of `state`:";
  for (std::string_view state : run_states())
    out += " `" + std::string(state) + "`";
  out += ".\n";
  return out;
}

} // namespace ballast::monitor
