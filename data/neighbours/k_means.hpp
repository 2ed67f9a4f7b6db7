/// k-means: centres such that the sum of the squared distances of the points to
/// their nearest centre, the inertia, is small. Lloyd's algorithm, begun with
/// the greedy k-means++ (Arthur, Vassilvitskii: "k-means++: the advantages of
/// careful seeding", SODA 2007), on the exact search for neighbours: each round
/// searches, for a point whose centre has not moved, only among the centres
/// that have, and in the end few do.
///
/// Pure functions: the same bits for any number of threads, on any CPU.
#pragma once

#include "data/neighbours/class_index.hpp"
#include "data/neighbours/parallel_work.hpp"
#include "runtime/base/random.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ballast::data {

struct k_means_terms {
  size_t centres = 1; // at most the rows of the class
  size_t rounds_max = 300;
  double tolerance = 1e-4; // of the mean variance: how much all may move
};

struct k_means_result {
  std::vector<double> centres;   // centres x columns
  std::vector<uint32_t> nearest; // of each row of the class, in order
  double inertia = 0;
  size_t rounds = 0;
};

/// Of the rows of one class of the index, in ascending order.
k_means_result k_means(const class_index& index, uint32_t of_class,
                       const k_means_terms& terms, const counter_random& random,
                       const work_terms& how);

/// The rows with which it begins.
std::vector<uint32_t> k_means_seeds(const class_index& index, uint32_t of_class,
                                    size_t centres,
                                    const counter_random& random,
                                    const work_terms& how);

} // namespace ballast::data
