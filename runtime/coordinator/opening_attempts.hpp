/// Attempts to open the collective of a generation that fail although every
/// worker is alive: two hosts that cannot reach each other, a wrong --host.
/// Says how long to wait before the next attempt, and which connections are
/// broken.
///
/// A failure counts only once the fence is over and everybody has answered it:
/// otherwise it was the echo of a death, and nothing waits for that. Pure; one
/// object for the generations of a run, another for its planned changes.
#pragma once

#include "runtime/coordinator/failure_detector.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ballast::coordinator {

/// Nothing goes between two workers, as `from` found out on their connection.
struct broken_link {
  worker_id from{};
  worker_id about{};
  /// That `about` had announced, and where nobody was; empty: there was.
  std::string address = {};
  std::string why = {};
};

/// A worker that was dismissed for a broken link stays away for a while.
struct absence {
  static constexpr std::chrono::seconds wait_least{30};
  static constexpr std::chrono::seconds wait_most{600};
  std::chrono::seconds wait{}; // doubles each time
  instant until{};
};

class opening_attempts {
public:
  static constexpr std::chrono::milliseconds wait_least{100};
  static constexpr std::chrono::milliseconds wait_most{5000};
  /// Failures in a row before anybody is told and shown out.
  static constexpr uint32_t told_after = 3;
  /// After that many more it is told again: once a minute.
  static constexpr uint32_t told_every = 12;

  /// A worker says that the collective did not open. `first_hand`: of what it
  /// saw on a connection of its own; that others gave up tells no reason.
  void suspect(std::string why, bool first_hand = false);
  void complain(broken_link what);
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

  /// Those among `ranks` that were complained of in more than one attempt, in
  /// the order of the ranks.
  std::vector<broken_link> broken(const std::vector<worker_id>& ranks) const;
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
    uint32_t attempts = 0; // in which it was said
    uint32_t newest = 0;
  };
  void count(sighting& seen) const;

  struct complaint {
    sighting seen;
    broken_link said;
  };
  struct lack {
    sighting seen;
    std::string what;
  };

  std::string suspected_;
  bool first_hand_ = false; // what is suspected
  std::string reason_;
  uint32_t failures_ = 0; // in a row
  std::optional<instant> retry_at_;
  std::map<std::pair<worker_id, worker_id>, complaint> complaints_; // ascending
  std::map<worker_id, lack> lacks_;
  instant first_failed_{};
};

/// Whom to go on without, so that no link is broken among those of `ranks` who
/// stay: the fewest, and as few as can be of those whom `spared` names. Of
/// equals first who was dialled at an address where nobody of all who dialled
/// it found it (each rank dials all lower ones) and was `unheard_of` there
/// before, then who joined last.
std::vector<worker_id> whom_to_dismiss(const std::vector<broken_link>& broken,
                                       const std::vector<worker_id>& ranks,
                                       const std::set<worker_id>& spared,
                                       const std::set<worker_id>& unheard_of);

} // namespace ballast::coordinator
