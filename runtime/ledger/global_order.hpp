/// The order of all rows of the training set in an epoch (order global): a pure
/// function (seed, epoch, position) -> row, the same for every number of
/// workers. Position p of N is computed without those before it.
///
/// Without a window p goes through one permutation of all rows, which are
/// numbered by chunk and position in the chunk. With a window of K chunks the
/// chunks are permuted, and in each K of them, one after the other, their rows:
/// a shuffle that needs no more than K chunks in memory at a time. Where rows
/// are used more or less often than once, those numbers are uses (epoch_uses).
///
/// One for each epoch, shared by all who ask. Immutable; any thread. Memory: 12
/// bytes for each chunk; and of who draws, where there are uses, 4 for each use
/// of the chunks of two windows.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/base/shared_list.hpp"
#include "runtime/ledger/sequence.hpp"

#include <cstdint>
#include <memory>
#include <vector>

namespace ballast::ledger {

/// Some neighbours of an epoch's order, the rows of one rank in one step or
/// part of them; of order local the draws of its share.
struct step_part {
  uint64_t first = 0;
  uint64_t count = 0;
  friend bool operator==(const step_part&, const step_part&) = default;
};

/// The chunks of the set in the order in which an epoch's windows take them in;
/// without a window by id.
std::vector<chunk_id> chunk_turns(uint64_t seed, epoch_number epoch,
                                  size_t chunks, uint32_t window);

/// What is known of the uses of some chunks; of who draws, empty at first.
struct dealt_uses {
  std::vector<std::shared_ptr<const std::vector<uint32_t>>> by_turn;
  size_t from = 0; // those of earlier turns are dropped
};

class global_order {
public:
  /// `chunk_rows`, `window`, `uses`: as of a sequence.
  global_order(uint64_t seed, epoch_number epoch,
               const shared_list<uint32_t>& chunk_rows, uint32_t window,
               std::shared_ptr<const epoch_uses> uses);

  /// Positions of the epoch: N.
  uint64_t size() const { return starts_.back(); }
  /// Appends the rows at these positions. Precondition: there are such.
  void draw(step_part what, dealt_uses& known, std::vector<row_ref>& out) const;

  /// The window in which a position lies; of the end, how many there are.
  uint64_t window_of(uint64_t position) const;
  /// Appends the chunks that have rows, from the window of `position` on.
  void upcoming(uint64_t position, std::vector<chunk_id>& out) const;
  /// Without one all chunks take part all the time.
  bool has_window() const { return windowed_; }

private:
  size_t turn_of(uint64_t position) const;
  uint32_t row_of(size_t turn, uint64_t place, dealt_uses& known) const;

  uint64_t seed_;
  epoch_number epoch_;
  bool windowed_;
  uint64_t window_;              // chunks; of none, all
  std::vector<chunk_id> turns_;  // chunks by turn
  std::vector<uint64_t> starts_; // position of the first row, by turn; and N
  std::shared_ptr<const epoch_uses> uses_; // null: each row once
};

} // namespace ballast::ledger
