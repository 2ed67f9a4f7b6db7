#include "bench/policies/least_shard.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::policies {
namespace {

struct region {
  uint32_t worker = 0;
  int64_t shards = 0;
  int64_t optimal = 0;
  int64_t given = 0; // picked for the others in this round
};

} // namespace

std::vector<unit_move> least_shard::tick(const cluster_view& view) {
  std::vector<unit_move> out;
  picker_.new_tick(view);
  std::vector<bool> busy(view.reported.classes);
  for (const unit_move& one : view.in_flight)
    busy[view.places.label(one.unit)] = true;
  for (size_t label = 0; label < view.reported.classes; ++label)
    if (!busy[label])
      round(view, label, out);
  return out;
}

void least_shard::round(const cluster_view& view, size_t label,
                        std::vector<unit_move>& out) {
  label_excess excess(view, label);
  std::vector<uint32_t> order = excess.least_first();
  if (excess[order.back()] - excess[order.front()] <= options_.threshold)
    return;
  auto total = double(excess.total());
  auto limit =
      std::max<int64_t>(1, std::min(int64_t(options_.relative_limit * total),
                                    int64_t(options_.absolute_limit)));
  std::vector<region> regions;
  for (uint32_t worker : order)
    regions.push_back({worker, int64_t(view.reported.at(worker, label)),
                       int64_t(std::ceil(view.parts[worker] * total - 1e-9))});

  int64_t picked = 0;
  for (region& one : regions) {
    one.given =
        std::clamp<int64_t>(one.shards - one.optimal, 0, limit - picked);
    picked += one.given;
  }
  if (picked == 0) {
    int64_t short_by = 0;
    for (const region& one : regions)
      short_by += std::max<int64_t>(0, one.optimal - 1 - one.shards);
    int64_t most = std::min(short_by, limit);
    for (region& one : regions)
      if (picked < most && one.shards >= one.optimal && one.shards > 0) {
        one.given = 1;
        ++picked;
      }
  }

  for (region& one : regions)
    one.shards -= one.given;
  for (size_t i = 0; i < regions.size(); ++i)
    for (; regions[i].given > 0; --regions[i].given) {
      auto least = std::min_element(
          regions.begin(), regions.end(), [](const region& a, const region& b) {
            return a.shards - a.optimal < b.shards - b.optimal;
          });
      ++least->shards;
      if (least->worker != regions[i].worker)
        picker_.pick(view, label, regions[i].worker, least->worker, 1, out);
    }
}

} // namespace ballast::policies
