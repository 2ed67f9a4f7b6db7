/// Attempts to open the collective of a generation that fail although every
/// worker is alive: two hosts that cannot reach each other, a wrong --host.
/// Says how long to wait before the next attempt, and which worker is
/// unreachable.
///
/// A failure counts only once the fence is over and everybody has answered it:
/// otherwise it was the echo of a death, and nothing waits for that. Pure; one
/// object for the generations of a run, another for its planned changes.
#pragma once

#include "runtime/failure_detector.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ballast {

/// `from` found nobody at the address that `about` had announced.
struct unreachable_address {
  worker_id from{};
  worker_id about{};
  std::string address;
};

class opening_attempts {
public:
  static constexpr std::chrono::milliseconds wait_least{100};
  static constexpr std::chrono::milliseconds wait_most{5000};
  /// Failures in a row before anybody is told and shown out.
  static constexpr uint32_t told_after = 3;
  /// After that many more it is told again: once a minute.
  static constexpr uint32_t told_every = 12;

  /// A worker says that the collective did not open.
  void suspect(std::string why) { suspected_ = std::move(why); }
  void complain(unreachable_address what);
  /// It says so of itself: it lacks something.
  void lacks(worker_id who, std::string what);
  /// The fence is over; true if the attempt counts as failed.
  bool judge(bool everybody_answered, instant now);
  /// It failed, and why is known.
  void failed(std::string why, instant now);
  /// True if the wait is over now.
  bool tick(instant now);
  /// The next attempt has to wait.
  bool held() const { return retry_at_.has_value(); }
  /// It opened.
  void reset() { *this = {}; }
  uint32_t failures() const { return failures_; }
  bool to_tell() const {
    return failures_ >= told_after &&
           (failures_ - told_after) % told_every == 0;
  }
  const std::string& reason() const { return reason_; }
  std::chrono::milliseconds wait() const;

  /// Of `ranks`, the first that more than half of those who dial it cannot
  /// reach (each rank dials all lower ones), with their words.
  std::vector<unreachable_address>
  unreachable(const std::vector<worker_id>& ranks) const;
  /// Who of `ranks` lacks something, and what; nobody until one says so twice.
  std::map<worker_id, std::string>
  unable(const std::vector<worker_id>& ranks) const;
  /// The next attempt would come later than `patience` behind the first that
  /// failed in a row.
  bool exceeds(std::chrono::seconds patience) const {
    return retry_at_ && *retry_at_ >= first_failed_ + patience;
  }

private:
  struct sighting {
    std::string what;      // the address, or what is lacking
    uint32_t attempts = 0; // in which it was said
    uint32_t newest = 0;
  };
  void see(sighting& seen, std::string what) const;
  std::string suspected_;
  std::string reason_;
  uint32_t failures_ = 0; // in a row
  std::optional<instant> retry_at_;
  std::map<worker_id, std::map<worker_id, sighting>> complaints_; // about, from
  std::map<worker_id, sighting> lacks_;
  instant first_failed_{};
};

} // namespace ballast
