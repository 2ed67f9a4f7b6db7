/// The placements on which balancers are compared. To add another kind of
/// placement, add a line to `generators()`.
#pragma once

#include "runtime/balance/quota.hpp"
#include "runtime/job/job_words.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast::policies {

struct generator {
  std::string name;
  placement_kind kind{};
  double alpha = 0.5; // parameter of the kind
  enum class order {
    shuffled,
    sorted,
    two_sorted_files
  } file = order::shuffled;
  bool unequal_shares = false; // `shares`: lognormal, sigma 1
  bool unequal_speeds = false; // every other worker is twice as fast
};

const std::vector<generator>& generators();

/// The initial state of a run.
struct instance {
  std::vector<int32_t> labels;             // by row
  std::vector<std::vector<uint64_t>> rows; // by worker
  balance::label_counts held;
  std::vector<double> parts; // of all rows, by worker; sum to 1
};

/// Classes are not equally frequent: weights from 0.5 to 1.5. Equal seeds give
/// equal instances.
instance generate(const generator& how, uint32_t workers, uint32_t classes,
                  uint64_t rows, uint64_t seed);

} // namespace ballast::policies
