/// Collective operations among the ranks of one host, by adding directly from
/// each other's memory.
///
/// With n ranks and S bytes, every rank adds its slice of all n buffers (S
/// bytes read) and publishes it segment by segment; meanwhile it copies the
/// segments that other ranks have published. Data in arenas needs no further
/// copy; other data passes through two staging buffers. Small data is published
/// whole and every rank adds all of it: one synchronisation instead of three.
#pragma once

#include "collectives/collective.hpp"
#include "collectives/shm_group.hpp"

#include <atomic>

namespace ballast::collectives {

class shm_algorithms {
public:
  explicit shm_algorithms(shm_group& group) : group_(group) {}

  /// Up to this size every rank adds everything (<= staging_bytes). Must be
  /// equal on every rank.
  void set_one_shot_bytes(size_t bytes);

  void all_reduce(void* data, size_t count, element_type type, deadline until);
  void reduce_scatter(void* data, size_t count, element_type type,
                      deadline until);
  void all_gather(void* data, size_t count, element_type type, deadline until);
  /// As collective::sum_in_order, of checked arguments.
  void sum_in_order(const ledger::fixed_sum& how, const float* parts,
                    size_t stride, float* out, size_t count, deadline until);
  /// For such a sum between several hosts, before it begins: a rank that waits
  /// here for another operation would not see the streams.
  void announce_sum(const ledger::fixed_sum& how, size_t count, deadline until);
  /// `root` gets the sum, the others keep their data.
  void reduce(void* data, size_t count, element_type type, int root,
              deadline until);
  /// `root` is a position among the ranks of this host; `origin`, equal on all
  /// ranks, is the original source of the bytes. A rank that does not `lack`
  /// them copies nothing.
  void broadcast(void* data, size_t bytes, int root, int origin, bool lacks,
                 deadline until);
  void barrier(deadline until);

  uint64_t bytes_sent() const { return bytes_; }

private:
  struct work;
  struct segment_work;
  struct ordered_work;

  void one_shot(char* data, size_t count, element_type type, deadline until);
  void run(work& w, deadline until);
  void run_piece(work& w, slice piece, deadline until);
  void add_segment(work& w, slice whole, slice segment);
  shm_call offer(work& w, slice piece);
  void one_shot_in_order(const ledger::fixed_sum& how, const float* parts,
                         size_t stride, float* out, size_t count,
                         deadline until);

  shm_group& group_;
  size_t one_shot_bytes_ = 16384;
  std::atomic<uint64_t> bytes_{0}; // published to peers
};

} // namespace ballast::collectives
