/// How many rows each worker should own, given its takes.
///
/// In the long run in proportion to them: then all workers end every epoch
/// together. In the current epoch a worker may be late (it took little for a
/// while and still owned much); its remaining rows then move with their chunks
/// to the others, a few more than these own in the long run. Pure.
///
/// Takes are whole rows: of a batch of 20 three equal workers take 7, 7 and 6
/// in every step. In a small set this outweighs all other differences, so sizes
/// follow the takes over all steps, not the weights; and a row more or less is
/// no reason to move anything.
#pragma once

#include <cstdint>
#include <vector>

namespace ballast::balance {

/// By rank.
struct sizes_request {
  std::vector<uint64_t> weights; // parts of a batch
  std::vector<uint64_t> owned;   // rows
  std::vector<uint64_t> left;    // of these, not consumed in this epoch
  std::vector<uint64_t> room;    // rows that fit beside those owned
  uint64_t batch = 0;            // rows of a step; 0: takes are fractions
};

/// Splits a batch by these weights.
std::vector<uint64_t> whole_takes(uint64_t batch,
                                  const std::vector<uint64_t>& weights);

/// The rows that each worker takes in an epoch, limited by its memory. Sums to
/// the owned rows.
std::vector<uint64_t> lasting_sizes(const sizes_request& what);

/// The same, adjusted so that the rest of this epoch is in proportion to the
/// weights, too.
std::vector<uint64_t> sizes_for_this_epoch(const sizes_request& what);

/// The largest relative excess of a worker over its lasting size; 0 if all are
/// within a row.
double most_excess(const sizes_request& what,
                   const std::vector<uint64_t>& lasting);

/// The fraction of an epoch's time that is lost at the end of this one, while
/// the others wait for a worker that is late by more than a row, once these
/// sizes are reached.
double lost_in_this_epoch(const sizes_request& what,
                          const std::vector<uint64_t>& sizes);

} // namespace ballast::balance
