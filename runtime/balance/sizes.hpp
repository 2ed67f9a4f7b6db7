/// How many rows each worker should own, given what it takes of every batch.
///
/// In the long run in proportion to that: then all come to the end of every
/// epoch together. In the epoch under way somebody may lag behind (it took
/// little for a while and still owned much); what it has left then goes with
/// its chunks to the others, a few more than it owns in the long run. Pure.
///
/// Takes are whole rows: of a batch of 20 three equal workers take 7, 7 and 6,
/// in every step. Where a set is small that is more than anything else, so what
/// counts is what they take in all steps, not their weights; and a row more or
/// less is no reason to move anything.
#pragma once

#include <cstdint>
#include <vector>

namespace ballast {

/// By rank.
struct sizes_request {
  std::vector<uint64_t> weights; // parts of a batch
  std::vector<uint64_t> owned;   // rows
  std::vector<uint64_t> left;    // of these, not consumed in this epoch
  std::vector<uint64_t> room;    // rows that fit in beside those owned
  uint64_t batch = 0;            // rows of a step; 0: takes are no whole rows
};

/// Of a batch, by these weights.
std::vector<uint64_t> whole_takes(uint64_t batch,
                                  const std::vector<uint64_t>& weights);

/// What each takes in an epoch, as far as there is room. Sums to what is owned.
std::vector<uint64_t> lasting_sizes(const sizes_request& what);

/// The same, and what this epoch has left in proportion to the weights, too.
std::vector<uint64_t> sizes_for_this_epoch(const sizes_request& what);

/// By which part the one that owns most too much is above its lasting size; 0
/// where all are within a row of theirs.
double most_excess(const sizes_request& what,
                   const std::vector<uint64_t>& lasting);

/// Part of an epoch's time that is lost at the end of this one, while the
/// others wait for who is late by more than a row, once these sizes are
/// reached.
double lost_in_this_epoch(const sizes_request& what,
                          const std::vector<uint64_t>& sizes);

} // namespace ballast
