#include "runtime/coordinator/load_watch.hpp"

namespace ballast::coordinator {

void load_watch::heard(const heartbeat& beat, instant now) {
  if (beat.arrived_bytes >= beat.share_bytes) {
    known_.erase(beat.worker);
    return;
  }
  auto [found, fresh] = known_.try_emplace(beat.worker);
  entry& one = found->second;
  if (fresh || one.generation != beat.generation ||
      one.share != beat.share_bytes || one.arrived != beat.arrived_bytes)
    one = {
        beat.generation, beat.share_bytes, beat.arrived_bytes, now, now, false};
  one.heard = now;
}

std::vector<load_watch::finding> load_watch::stalled() {
  std::vector<finding> out;
  for (auto& [who, one] : known_) {
    if (one.told || one.heard - one.since < patience)
      continue;
    one.told = true;
    out.push_back({who,
                   {std::chrono::duration_cast<std::chrono::seconds>(one.heard -
                                                                     one.since),
                    one.arrived, one.share}});
  }
  return out;
}

} // namespace ballast::coordinator
