/// sum_in_order over a mesh of byte streams, among all its ranks.
///
/// With n ranks, S bytes, p parts a rank (the mean), latency a and time per
/// byte b:
///   small   (n-1) (a + p S b)                         all parts to everybody
///   large   (n-1) (a + p S/n b) + (n-1) (a + S/n b)   to a slice's owner; back
/// A rank exchanges with one pair of others after the other, as the mesh moves
/// one outgoing and one incoming stream at a time.
///
/// Thread: that of the mesh.
#pragma once

#include "collectives/cost_model.hpp"
#include "collectives/ordered_sum.hpp"
#include "collectives/stream_algorithms.hpp"

#include <vector>

namespace ballast::collectives {

class stream_ordered_sum {
public:
  explicit stream_ordered_sum(stream_mesh& mesh);

  /// As collective::sum_in_order, of checked arguments. `cost`: equal on every
  /// rank.
  void sum(const ledger::fixed_sum& how, rank_parts mine, float* out,
           size_t count, const link_cost& cost, deadline until);

private:
  struct exchange;

  void sum_piece(exchange& x, slice piece, deadline until);

  stream_mesh& mesh_;
  stream_algorithms everybody_;
  std::vector<float> arrived_; // the other ranks' parts, one rank after another
};

} // namespace ballast::collectives
