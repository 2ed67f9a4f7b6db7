/// What a worker of a reproducible run says of its bits. One of the reports
/// (reports.hpp).
#pragma once

#include "runtime/base/ids.hpp"

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

namespace ballast {

/// Digests of the parameters after a step (train.digest_every_steps), by
/// tensor: equal on all workers.
struct parameters_digested {
  worker_id worker{};
  ballast::generation generation{};
  step_number step{};
  std::vector<std::string> tensors;
  std::vector<uint64_t> digests;
  auto fields() { return std::tie(worker, generation, step, tensors, digests); }
};

} // namespace ballast
