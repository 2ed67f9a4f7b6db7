/// What a worker of a reproducible run says of its bits. Some of the reports
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

/// A leaf of which two ranks computed other gradients (ledger::spot_check): the
/// digests of those, of their second attempts, and of a third rank's.
struct contradicted_leaf {
  uint32_t leaf = 0;
  uint32_t owner = 0;   // ranks
  uint32_t checker = 0; // the owner if it is alone
  int32_t third = -1;   // -1: there is none
  uint64_t of_owner = 0;
  uint64_t of_checker = 0;
  uint64_t owner_again = 0;
  uint64_t checker_again = 0;
  uint64_t of_third = 0;
  auto fields() {
    return std::tie(leaf, owner, checker, third, of_owner, of_checker,
                    owner_again, checker_again, of_third);
  }
};
/// Nobody applies this step: each rank says so, and waits for a fence. Equal on
/// all ranks.
struct leaves_contradicted {
  worker_id worker{};
  ballast::generation generation{};
  step_number step{};
  std::vector<contradicted_leaf> leaves;
  auto fields() { return std::tie(worker, generation, step, leaves); }
};

} // namespace ballast
