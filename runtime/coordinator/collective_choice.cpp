#include "runtime/coordinator/collective_choice.hpp"

#include <algorithm>
#include <map>

namespace ballast::coordinator {
namespace {

/// Empty where NCCL can join them.
std::string why_not_nccl(const std::vector<rank_device>& ranks) {
  std::map<std::string, const rank_device*> by_gpu;
  for (const rank_device& one : ranks)
    if (one.gpu.empty())
      return one.worker + " computes on " + one.device;
  for (const rank_device& one : ranks)
    if (one.nccl.empty())
      return one.worker + " has no NCCL that can be used";
  for (const rank_device& one : ranks) {
    if (one.nccl != ranks[0].nccl)
      return ranks[0].worker + " has NCCL " + ranks[0].nccl + ", " +
             one.worker + " " + one.nccl;
    auto [other, first] = by_gpu.emplace(one.gpu, &one);
    if (!first)
      return other->second->worker + " and " + one.worker + " share a GPU, " +
             one.device + "; NCCL takes one worker for each";
  }
  return {};
}

} // namespace

collective_choice choose_collective(collective_kind asked,
                                    const std::vector<rank_device>& ranks,
                                    const std::string& nccl_failed) {
  const std::string ring = to_string(collective_kind::ring);
  if (asked != collective_kind::automatic)
    return {to_string(asked), {}};
  if (std::all_of(ranks.begin(), ranks.end(),
                  [](const rank_device& one) { return one.gpu.empty(); }))
    return {ring, {}};
  if (ranks.size() < 2)
    return {ring, "one worker sums nothing"};
  if (std::string why = why_not_nccl(ranks); !why.empty())
    return {ring, why};
  if (!nccl_failed.empty())
    return {ring, "NCCL failed before: " + nccl_failed};
  return {to_string(collective_kind::nccl),
          "every worker has a GPU of its own, and NCCL " + ranks[0].nccl};
}

} // namespace ballast::coordinator
