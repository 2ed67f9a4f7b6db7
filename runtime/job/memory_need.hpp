/// The memory that training a model needs, compared with what a machine has, so
/// that a job that cannot fit is refused before its first step instead of being
/// killed in it. Pure.
#pragma once

#include "runtime/base/errors.hpp"
#include "runtime/job/job.hpp"

#include <cstdint>

namespace ballast {

/// Bytes of one worker for parameters, two gradient arenas and the optimizer's
/// state. Data and the model's workspace come on top.
uint64_t training_bytes(uint64_t parameters, const optimizer_spec& optimizer);

/// A lower bound of the model's parameter count that follows from the job
/// alone, whatever the data are. 0: the job does not say.
uint64_t least_parameters(const model_spec& model);

/// The resources of a machine.
struct machine_size {
  uint64_t memory_bytes = 0; // physical, or the limit of the process's cgroup
  uint32_t cores = 1;
};

/// invalid_job if `workers` workers of this job on one such machine cannot hold
/// a model with this many parameters, or `at_least` this many.
failure memory_problem(const job& what, uint64_t parameters, uint32_t workers,
                       const machine_size& machine, bool at_least = false);
/// invalid_job if a worker would compute with more threads than there are
/// cores.
failure threads_problem(uint32_t threads, const machine_size& machine);

/// The compute threads of one worker: the job's value, or its machine's cores
/// divided by the workers of the run there. The coordinator's machine may have
/// more cores.
uint32_t compute_threads(const train_spec& train, uint32_t local_workers,
                         const machine_size& machine);

/// invalid_job if all workers of a job run on this machine and the job alone
/// shows that they cannot. Checked before data are read or a worker is started.
/// Each worker checks again once it knows the model and its device.
failure machine_problem(const job& what, const machine_size& machine);

/// "37.3 GiB"
std::string gibibytes(double bytes);

} // namespace ballast
