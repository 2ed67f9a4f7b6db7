/// The gradients of leaves on their way up the tree: memory for a few of them,
/// and which sums are there already. Two sums that are the halves of a node
/// become that node's; a slot that is not needed any more is used again.
///
/// Whoever computed a leaf adds up what can be added then, so the sums of a
/// worker's threads meet here. The order of a sum is the tree's, whoever adds.
/// What is complete when it is given up stays where it is, for the same step
/// once more.
///
/// Threads: begin() and held() while nobody computes; the rest from any.
#pragma once

#include "gpu/reduction/abandoned_step.hpp"
#include "runtime/ledger/leaf_tree.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace ballast::gpu {

/// Memory for leaves: gradients, and statistics of the model's buffers behind
/// each other in two rows of slots. Plain data; outlives steps.
struct leaf_memory {
  std::shared_ptr<float[]> values;
  size_t slots = 0;
  size_t threads = 1;    // that compute at once
  size_t gradients = 0;  // floats of a slot
  size_t statistics = 0; // likewise
  size_t gradient_stride = 0;
  size_t statistics_stride = 0;

  float* gradients_at(size_t slot) const {
    return values.get() + slot * gradient_stride;
  }
  float* statistics_at(size_t slot) const {
    return values.get() + slots * gradient_stride + slot * statistics_stride;
  }
  size_t floats() const {
    return slots * (gradient_stride + statistics_stride);
  }
};
/// Without its memory: slots for so many leaves that so many threads compute.
leaf_memory lay_out_leaves(uint32_t leaves, size_t threads, size_t gradients,
                           size_t statistics);

class leaf_slots {
public:
  explicit leaf_slots(const leaf_memory& memory);

  /// The leaves of `mine` that have rows, of a step of `rows` rows. `lone`: the
  /// gradients of the sum of all, in place of a slot, if that is one part;
  /// null: parts stay in the slots of their numbers. `kept`: sums of the same
  /// step that are there; those that are in the way are computed once more.
  void begin(const ledger::leaf_ranges& mine, uint32_t leaves, uint64_t rows,
             float* lone, std::span<const held_sum> kept = {});
  /// Leaves that are to be computed, the next one last.
  const std::vector<uint32_t>& waiting() const { return waiting_; }
  /// The sums that are complete.
  std::vector<held_sum> held() const;
  /// The next leaf and its place, which is not cleared; nothing: all are taken,
  /// or it was given up. Waits for a slot.
  struct place {
    uint32_t leaf = 0;
    uint32_t slot = 0;
    float* gradients = nullptr;
    float* statistics = nullptr;
    /// Slots of sums that are there and that the leaf completes, bottom up.
    std::vector<uint32_t> beside = {};
    uint32_t completes = 0; // the node that these end in
  };
  /// `piecewise`: each float of the gradients goes through add_up() before
  /// done(), where anything is beside it. One pass while they are in the cache
  /// is much less memory to move than each node of the tree by itself.
  std::optional<place> take(bool piecewise = false);
  /// Adds floats of the leaf's gradients to what is beside it, along the tree.
  void add_up(const place& of, size_t begin, size_t count) const;
  /// The leaf is computed: adds up what else it completes.
  void done(const place& of);
  /// Nothing is taken any more, until resume().
  void give_up();
  void resume();
  bool given_up() const;

private:
  void keep(std::span<const held_sum> kept, uint32_t parts);
  float* gradients_at(uint32_t slot) const;
  void add(uint32_t into, uint32_t from);
  void add_statistics(uint32_t into, uint32_t from);
  /// It was added to what is beside it. The slot of that sum.
  uint32_t added_up(const place& of);

  const leaf_memory& memory_;
  uint32_t leaves_ = 1;
  mutable std::mutex mutex_;
  std::condition_variable freed_;
  bool given_up_ = false;
  float* lone_ = nullptr;
  std::vector<uint32_t> waiting_; // leaves to compute, the next one last
  std::vector<uint32_t> leading_; // by leaf: 1 + the part that begins there
  std::vector<bool> has_rows_;    // by node of the tree
  std::vector<bool> is_part_;     // likewise
  std::vector<uint32_t> held_;    // likewise: 1 + the slot of its sum, or 0
  std::vector<bool> used_;        // by slot
};

} // namespace ballast::gpu
