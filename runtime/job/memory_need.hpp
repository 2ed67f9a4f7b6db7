/// What training a model takes of a machine's memory, and whether a machine has
/// that: better refused before the first step than killed in it. Pure.
#pragma once

#include "runtime/base/errors.hpp"
#include "runtime/job/job.hpp"

#include <cstdint>

namespace ballast {

/// Bytes of one worker: parameters, two gradient arenas, and the optimizer's
/// state. Data and the model's own workspace come on top.
uint64_t training_bytes(uint64_t parameters, const optimizer_spec& optimizer);

/// Of a model, as far as the job says how large it is: it has at least so many
/// parameters, whatever the data are. 0: the job does not say.
uint64_t least_parameters(const model_spec& model);

/// What a machine offers.
struct machine_size {
  uint64_t memory_bytes = 0; // physical, or the limit of the process's cgroup
  uint32_t cores = 1;
};

/// invalid_job where `workers` of a job on one such machine cannot hold a model
/// of so many parameters, or of so many `at_least`.
failure memory_problem(const job& what, uint64_t parameters, uint32_t workers,
                       const machine_size& machine, bool at_least = false);
/// invalid_job where a worker is to compute with more threads than there are
/// cores.
failure threads_problem(uint32_t threads, const machine_size& machine);

/// Of one worker: what the job says, or the cores of its machine, shared among
/// the workers of the run there. The coordinator's may be a larger one.
uint32_t compute_threads(const train_spec& train, uint32_t local_workers,
                         const machine_size& machine);

/// invalid_job where all workers of a job are to run on this one machine and
/// the job alone shows that they cannot: before data are read, or a worker is
/// started. What passes here is looked at again by each worker, which knows the
/// model and its device.
failure machine_problem(const job& what, const machine_size& machine);

/// "37.3 GiB"
std::string gibibytes(double bytes);

} // namespace ballast
