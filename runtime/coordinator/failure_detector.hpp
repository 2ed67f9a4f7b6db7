/// Who has been silent for too long. One knob, heartbeat_ms; every other
/// timeout derives from it.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/base/instant.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <vector>

namespace ballast::coordinator {

class failure_detector {
public:
  /// A node is suspected after this many heartbeats without a word: the run is
  /// fenced.
  static constexpr int suspect_after = 3;
  /// And excluded if it does not answer the fence within so many more.
  static constexpr int fence_ack = 2;

  explicit failure_detector(std::chrono::milliseconds heartbeat)
      : heartbeat_(heartbeat) {}

  void heard(worker_id who, instant now) {
    last_[who] = now;
    newest_ = std::max(newest_, now);
  }
  /// The time of the newest word from anybody.
  instant newest() const { return newest_; }
  void forget(worker_id who) { last_.erase(who); }
  /// The listener itself stood still so long: that is not their silence.
  void excuse(instant away, instant now) {
    for (auto& [who, last] : last_)
      last = std::min(last + away, now);
  }
  /// Silent for suspect_after heartbeats; in order of their ids.
  std::vector<worker_id> suspects(instant now) const {
    std::vector<worker_id> out;
    for (const auto& [who, last] : last_)
      if (now - last > suspect_after * heartbeat_)
        out.push_back(who);
    return out;
  }
  instant last_word(worker_id who) const {
    auto found = last_.find(who);
    return found == last_.end() ? instant{0} : found->second;
  }
  /// How long a fence waits for an answer.
  instant ack_patience() const { return fence_ack * heartbeat_; }
  /// How long those who live need to find a new coordinator.
  instant return_patience() const {
    return (suspect_after + fence_ack) * heartbeat_;
  }
  /// Since the last word; 0 if never heard.
  instant age(worker_id who, instant now) const {
    auto found = last_.find(who);
    return found == last_.end() ? instant{0} : now - found->second;
  }

private:
  std::chrono::milliseconds heartbeat_;
  std::map<worker_id, instant> last_;
  instant newest_{};
};

} // namespace ballast::coordinator
