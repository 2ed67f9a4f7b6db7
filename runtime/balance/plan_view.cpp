#include "runtime/balance/plan_view.hpp"

#include "runtime/balance/shard_moves.hpp"
#include "runtime/balance/sizes.hpp"
#include "runtime/balance/skew.hpp"
#include "runtime/ledger/step_takes.hpp"

#include <algorithm>
#include <cstddef>

namespace ballast::balance {

double plan_view::skew_max() const {
  return skew.empty() ? 0 : *std::max_element(skew.begin(), skew.end());
}

plan_view view_of(const ledger::plan& in_force, const chunk_labels& labels) {
  plan_view out;
  out.of = in_force;
  for (const ledger::share& one : in_force.shares)
    out.ranks.push_back(one.worker);
  out.held = count_labels(labels, in_force);
  out.lone = lone_classes(labels, in_force);
  out.skew = skews(out.held);
  std::vector<uint64_t> of_class;
  for (size_t label = 0; label < out.held.classes; ++label)
    of_class.push_back(out.held.of_class(label));
  for (size_t rank = 0; rank < out.held.workers; ++rank)
    out.noise_floors.push_back(
        skew_by_chance(of_class, out.held.of_worker(rank)));
  return out;
}

std::vector<uint64_t> takes_of(const ledger::plan& of, uint64_t global_batch,
                               uint32_t leaves) {
  if (leaves > 0)
    return takes_of_leaves(ledger::leaves_under(of, leaves), global_batch,
                           leaves);
  std::vector<uint64_t> weights;
  for (const ledger::share& one : of.shares)
    weights.push_back(one.batch_weight);
  if (std::all_of(weights.begin(), weights.end(),
                  [](uint64_t w) { return w == 0; }))
    std::fill(weights.begin(), weights.end(), 1);
  return whole_takes(global_batch, weights);
}

bool same_sizes(const label_counts& a, const label_counts& b) {
  if (a.workers != b.workers)
    return false;
  for (size_t rank = 0; rank < a.workers; ++rank)
    if (a.of_worker(rank) != b.of_worker(rank))
      return false;
  return true;
}

} // namespace ballast::balance
