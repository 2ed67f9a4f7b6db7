#include "runtime/coordinator/reduce_watch.hpp"

#include <algorithm>

namespace ballast::coordinator {

void reduce_watch::heard(const heartbeat& beat, instant now) {
  auto found = known_.find(beat.worker);
  const bool same = found != known_.end() &&
                    beat.phase == worker_phase::reduce &&
                    found->second.generation == beat.generation &&
                    found->second.step == beat.step;
  if (same) {
    found->second.heard = now;
    return;
  }
  if (found != known_.end()) {
    // One that was given up says nothing about how long one takes.
    if (found->second.generation == beat.generation)
      longest_ = std::max(longest_, found->second.heard - found->second.since);
    known_.erase(found);
  }
  if (beat.phase == worker_phase::reduce)
    known_[beat.worker] = {beat.generation, beat.step, now, now};
}

std::optional<reduce_watch::finding>
reduce_watch::stuck(const std::vector<worker_id>& members, generation of) {
  const instant patience =
      doubled_ * std::max<instant>(patience_min, patience_times * longest_);
  std::optional<finding> out;
  for (worker_id who : members) {
    auto found = known_.find(who);
    if (found == known_.end() || found->second.generation != of)
      return std::nullopt;
    const entry& one = found->second;
    const instant waited = one.heard - one.since;
    if (waited < patience || (out && out->step != one.step))
      return std::nullopt;
    if (!out || waited < out->waited)
      out = finding{one.step, waited};
  }
  if (out)
    doubled_ *= 2;
  return out;
}

} // namespace ballast::coordinator
