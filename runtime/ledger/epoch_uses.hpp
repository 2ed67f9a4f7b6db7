/// How often each row of the training set is used in an epoch (job field
/// `train.sampling`): once, or more often, or not at all, by weights that stay
/// what they are.
///
/// What the ledger counts are *uses*. Chunk c has U_c of them in every epoch of
/// a run, so plans, cursors, moves, recovery and audit are those of a set whose
/// chunks have U_c rows. Only where a position becomes a row, a pure function
/// of (seed, epoch, chunk) says which row has it. U_c is the chunk's part of
/// the epoch's length by the weights of its rows, rounded systematically by the
/// seed; a row of weight w in a chunk of weight W is used floor or ceil of
/// U_c w / W times in an epoch, by systematic sampling over the chunk's rows in
/// a random order (Madow 1949, doi:10.1214/aoms/1177729988): the mean over
/// epochs is exact, and so is the sum in each. Sums run in the order of chunks
/// and rows, so that every process computes the same numbers.
///
///   weighted     by chunk_info::weights
///   stratified   once, so that each part of a chunk's order has every class in
///                the chunk's proportions, within a row; the rows of a chunk
///                lie class by class (chunk_info::label_histogram)
///   curriculum   in epoch e the first share(e) of the rows of a chunk, which
///                lie by score; these as often as there are rows in the chunk
///
/// Immutable; any thread. Made once for each run and process.
#pragma once

#include "runtime/base/errors.hpp"
#include "runtime/base/shared_list.hpp"
#include "runtime/job/sampling_spec.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace ballast::ledger {

/// The order that rows in a chunk must have for it.
row_layout order_for(sampling_kind what);

/// The part of the rows that a curriculum of `epochs` epochs uses in this one,
/// in (0, 1].
double curriculum_share(const sampling_spec& how, uint64_t epochs,
                        epoch_number epoch);

class epoch_uses {
public:
  /// Why the set has no such uses, or nothing: it was prepared without them, or
  /// they are too many for a chunk.
  static failure mistake(const sampling_spec& how, const manifest& set);

  /// Null: each row is used once, in any order. Precondition: mistake() returns
  /// nothing. `epochs`: of the job.
  static std::shared_ptr<const epoch_uses> of(const sampling_spec& how,
                                              uint64_t epochs, uint64_t seed,
                                              const manifest& set);

  /// Uses of each chunk in an epoch, by id.
  const shared_list<uint32_t>& of_chunks() const { return of_chunks_; }
  /// Of all chunks together.
  uint64_t in_epoch() const;

  /// The rows of a chunk in the order in which an epoch uses them: position ->
  /// row, each as often as it is used.
  std::vector<uint32_t> order(epoch_number epoch, chunk_id chunk) const;

  /// The set as balancing counts it: the rows of a chunk are its uses, by
  /// class as often as they are expected. Without samples.
  manifest counted(const manifest& set) const;

private:
  struct chunk_rows {
    uint32_t rows = 0;
    std::vector<weight_run> runs; // weights, or the rows of each class
  };

  epoch_uses(const sampling_spec& how, uint64_t epochs, uint64_t seed,
             const manifest& set);
  std::vector<uint32_t> weighted(epoch_number epoch, chunk_id chunk) const;
  std::vector<uint32_t> stratified(epoch_number epoch, chunk_id chunk) const;
  std::vector<uint32_t> eased(epoch_number epoch, chunk_id chunk) const;
  std::vector<uint32_t> dealt(std::vector<uint32_t> uses, epoch_number epoch,
                              chunk_id chunk) const;

  sampling_spec how_;
  uint64_t epochs_;
  uint64_t seed_;
  std::vector<chunk_rows> chunks_;
  shared_list<uint32_t> of_chunks_;
};

/// What a ledger counts of each training chunk: its uses, or without any its
/// rows.
shared_list<uint32_t> counted_rows(const manifest& set, const epoch_uses* uses);

/// Uses of each chunk where these are the chunks' weights: `uses` in all, each
/// within 1 of its part, unbiased over `fraction` in [0, 1). Precondition: no
/// weight is negative, and their sum is above 0.
std::vector<uint64_t> systematic_counts(const std::vector<double>& weights,
                                        uint64_t uses, double fraction);

} // namespace ballast::ledger
