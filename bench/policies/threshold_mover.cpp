#include "bench/policies/threshold_mover.hpp"

namespace ballast::policies {

std::vector<unit_move> threshold_mover::tick(const cluster_view& view) {
  std::vector<unit_move> out;
  picker_.new_tick(view);
  for (size_t label = 0; label < view.reported.classes; ++label) {
    label_excess excess(view, label);
    std::vector<uint32_t> order = excess.least_first();
    double difference = excess[order.back()] - excess[order.front()];
    picker_.pick(view, label, order.back(), order.front(),
                 uint64_t(difference / 2), out);
  }
  return out;
}

} // namespace ballast::policies
