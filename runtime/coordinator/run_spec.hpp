/// What a run trains: the job, under which name, on which prepared data. Plain
/// data; written once when the run begins and once when its data are prepared.
#pragma once

#include "runtime/job/job.hpp"
#include "runtime/job/leaves_of.hpp"
#include "runtime/messages/evaluation_schedule.hpp"
#include "runtime/messages/messages.hpp"

#include <string>

namespace ballast::coordinator {

struct run_spec {
  ballast::job job;
  std::string name; // empty: there was no run yet
  set_summary set;  // empty until the data are prepared

  uint64_t batch() const { return job.train.global_batch; }
  /// In which a worker keeps rows; 0 = no limit of the job.
  uint64_t memory_bytes() const { return job.data.memory_mb.value_or(0) << 20; }
  /// A worker may own, or use, more than it can keep.
  bool streams() const { return ballast::streams(job.train); }
  /// A worker keeps what it has not sent.
  bool compresses() const {
    return job.train.compression != compression_kind::none;
  }
  /// Of a step; 0: order local.
  uint32_t leaves() const { return leaves_of(job.train); }
  /// The last one of an epoch.
  step_number end_of(epoch_number epoch) const {
    return step_number{value(epoch) * steps_per_epoch()};
  }
  uint64_t steps_per_epoch() const {
    return (set.train_rows + batch() - 1) / batch();
  }
  evaluation_schedule evaluations() const {
    return {job.evaluate.every, steps_per_epoch(), job.train.epochs};
  }
  const elastic_spec& elastic() const { return job.elastic; }
  ledger::ledger_config rows() const {
    return {job.seed, batch(), set.chunk_rows, job.train.shuffle.window(),
            leaves()};
  }
};

} // namespace ballast::coordinator
