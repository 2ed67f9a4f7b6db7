/// The generators of first placements, grouped by the criterion that assigns a
/// row. Each gives every row to exactly one worker; place_rows then tops up
/// workers with too few rows. Preconditions are those of place_rows. Pure.
#pragma once

#include "runtime/placement/row_lists.hpp"

namespace ballast::placement {

// -- by size (by_size.cpp) ----------------------------------------------------

/// File order, in parts of these proportions.
row_lists place_in_order(const placement_rows& of,
                         const std::vector<double>& weights);
/// As place_in_order on a shuffled order: every part is a fair sample.
row_lists place_shuffled(const placement_rows& of,
                         const std::vector<double>& weights, uint64_t seed);
/// Drawn from LogNormal(0, sigma); all 1 for sigma 0.
std::vector<double> lognormal_weights(double sigma, uint32_t workers,
                                      uint64_t seed);
/// i, i^2 or e^i for i = 1, 2, ..., selected by the name of the kind.
std::vector<double> rising_weights(placement_kind kind, uint32_t workers);

// -- by class (by_class.cpp) --------------------------------------------------

/// Deals rows like cards, class after class: the counts of any two workers
/// differ by at most one, for each class and in total.
row_lists place_stratified(const placement_rows& of, uint32_t workers,
                           uint64_t seed);
/// Sorted by label, equal parts.
row_lists place_sorted(const placement_rows& of, uint32_t workers);
/// Sorted by label and cut into `per_worker` shards for each worker, which are
/// dealt at random (McMahan et al., "Communication-efficient learning of deep
/// networks from decentralized data", AISTATS 2017).
row_lists place_shards(const placement_rows& of, uint32_t per_worker,
                       uint32_t workers, uint64_t seed);
/// Each worker holds `per_worker` classes; all classes have about the same
/// number of holders, which share their rows equally.
row_lists place_classes(const placement_rows& of, uint32_t per_worker,
                        uint32_t workers, uint64_t seed);
/// Class c is split in proportion to column c.
row_lists place_by_matrix(const placement_rows& of,
                          const std::vector<std::vector<double>>& matrix,
                          uint64_t seed);

// -- by random shares of classes (dirichlet.cpp) ------------------------------

/// Splits each class by proportions drawn from Dirichlet(alpha) over the
/// workers (Hsu, Qi and Brown, "Measuring the effects of non-identical data
/// distribution for federated visual classification", 2019). `balanced`: a
/// worker that has an equal part already takes nothing of the following
/// classes.
row_lists place_dirichlet(const placement_rows& of, double alpha, bool balanced,
                          uint32_t workers, uint64_t seed);
/// Worker w gets `sizes[w]` rows in a class mix drawn from Dirichlet(alpha)
/// over the classes. If the demand for a class exceeds the rest of it, the rest
/// is split in proportion to the demand, and the mixes continue without this
/// class.
row_lists place_inner_dirichlet(const placement_rows& of, double alpha,
                                const std::vector<uint64_t>& sizes,
                                uint64_t seed);

// -- by a column (by_column.cpp) ----------------------------------------------

/// Rows with equal values stay together. Groups go, largest first, to the
/// worker with the fewest rows: Graham, "Bounds on multiprocessing timing
/// anomalies", SIAM J. Appl. Math. 17(2), 1969.
row_lists place_groups(const placement_rows& of, uint32_t workers);
/// The number of different values in the column.
uint64_t count_groups(const placement_rows& of);
/// Sorts by strictness * rank of the value + (1 - strictness) * noise, both in
/// [0, 1), and cuts equal parts. Ranks, so that outliers and units do not
/// matter.
row_lists place_continuous(const placement_rows& of, double strictness,
                           uint32_t workers, uint64_t seed);

} // namespace ballast::placement
