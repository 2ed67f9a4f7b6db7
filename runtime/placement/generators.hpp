/// The generators of first placements, by what decides who gets a row. Each
/// gives every row to exactly one worker; place_rows looks after workers that
/// it leaves with too few. Preconditions are those of place_rows. Pure.
#pragma once

#include "runtime/placement/row_lists.hpp"

namespace ballast {

// -- by size (by_size.cpp) ----------------------------------------------------

/// File order, in parts of these proportions.
row_lists place_in_order(const placement_rows& of,
                         const std::vector<double>& weights);
/// The same of a shuffled order: all parts are fair samples.
row_lists place_shuffled(const placement_rows& of,
                         const std::vector<double>& weights, uint64_t seed);
/// Drawn from LogNormal(0, sigma); all 1 for sigma 0.
std::vector<double> lognormal_weights(double sigma, uint32_t workers,
                                      uint64_t seed);
/// i, i^2 or e^i for i = 1, 2, ...; by the name of the kind.
std::vector<double> rising_weights(const std::string& kind, uint32_t workers);

// -- by class (by_class.cpp) --------------------------------------------------

/// Dealt like cards, class after class: every worker's count of every class,
/// and of all, is within one of every other's.
row_lists place_stratified(const placement_rows& of, uint32_t workers,
                           uint64_t seed);
/// By label, equal parts.
row_lists place_sorted(const placement_rows& of, uint32_t workers);
/// By label, cut into `per_worker` shards for each worker, which are dealt at
/// random (McMahan et al., "Communication-efficient learning of deep networks
/// from decentralized data", AISTATS 2017).
row_lists place_shards(const placement_rows& of, uint32_t per_worker,
                       uint32_t workers, uint64_t seed);
/// Every worker has `per_worker` classes, every class about as many holders,
/// who share its rows equally.
row_lists place_classes(const placement_rows& of, uint32_t per_worker,
                        uint32_t workers, uint64_t seed);
/// Class c is split in proportion to column c.
row_lists place_by_matrix(const placement_rows& of,
                          const std::vector<std::vector<double>>& matrix,
                          uint64_t seed);

// -- by random shares of classes (dirichlet.cpp) ------------------------------

/// Each class split by proportions drawn from Dirichlet(alpha) over the
/// workers (Hsu, Qi and Brown, "Measuring the effects of non-identical data
/// distribution for federated visual classification", 2019). `balanced`: who
/// has an equal part already takes nothing of the classes that follow.
row_lists place_dirichlet(const placement_rows& of, double alpha, bool balanced,
                          uint32_t workers, uint64_t seed);
/// Worker w has `sizes[w]` rows, in a mix of classes that is drawn from
/// Dirichlet(alpha) over the classes. Where more of a class is asked for than
/// is left, it is split in proportion to what was asked; then it is dropped and
/// the mixes go on without it.
row_lists place_inner_dirichlet(const placement_rows& of, double alpha,
                                const std::vector<uint64_t>& sizes,
                                uint64_t seed);

// -- by a column (by_column.cpp) ----------------------------------------------

/// Rows with the same value stay together; groups go, the largest first, to
/// the worker with the fewest rows: Graham, "Bounds on multiprocessing timing
/// anomalies", SIAM J. Appl. Math. 17(2), 1969.
row_lists place_groups(const placement_rows& of, uint32_t workers);
/// Number of different values in the column.
uint64_t count_groups(const placement_rows& of);
/// Sorted by strictness * rank of the value + (1 - strictness) * noise, both in
/// [0, 1); then equal parts. Ranks, so that outliers and units do not matter.
row_lists place_continuous(const placement_rows& of, double strictness,
                           uint32_t workers, uint64_t seed);

} // namespace ballast
