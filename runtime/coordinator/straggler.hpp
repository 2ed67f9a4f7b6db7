/// Which workers hold the others up, since when, and why: what heartbeats say
/// of devices, and progress reports of rows, beside what was measured. A
/// straggler needs `slow_ratio` times the time of the others (their lower
/// median) for a row.
///
/// Causes come and go every second where a device works at its limit: one that
/// was not told of for `over_after` is over, and nothing is said twice before.
/// Pure: time comes with the calls. Owned by the coordinator's core.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/coordinator/failure_detector.hpp"
#include "runtime/messages/device_trouble.hpp"
#include "runtime/messages/reports.hpp"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace ballast::coordinator {

class stragglers {
public:
  static constexpr double slow_ratio = 1.2;
  static constexpr std::chrono::seconds over_after{10};
  /// Of a worker's time, from which on waiting for its rows is a cause.
  static constexpr double data_part_min = 0.05;

  struct finding {
    worker_id who{};
    device_trouble what; // all causes of the last `over_after`
    instant since{};     // when the first of them was told
    double ratio = 0; // its time for a row, by that of the others; 0: unknown
    bool slow() const { return ratio >= slow_ratio; }
  };

  /// A heartbeat says this, which may be that all is well.
  void heard(worker_id who, const device_trouble& what, instant now);
  /// What its steps took. Rows that come too slowly for two seconds of them are
  /// a cause: the first step of a generation may wait.
  void worked(worker_id who, const progress_report& done, instant now);
  void forget(worker_id who) {
    known_.erase(who);
    work_.erase(who);
  }
  /// Whoever listens now knows nothing of what was told.
  void tell_again();

  /// Microseconds for a row, as last measured; 0 where nobody knows.
  void measured(const std::map<worker_id, double>& row_us);

  struct change {
    finding what;
    bool over = false;
  };
  /// What is to be told: another cause, one that now slows its worker down, and
  /// that all is well again.
  std::vector<change> changes(instant now);
  /// Those in trouble, by worker.
  std::vector<finding> standing() const;

private:
  struct entry {
    finding is;
    std::map<device_cause, instant> last_told; // of each cause
    uint8_t told = 0;                          // causes that were told of
    bool told_slow = false;
  };
  /// Since it was last judged.
  struct work {
    uint64_t data_ns = 0;
    uint64_t all_ns = 0;
    rows_source from = rows_source::unknown;
    bool late = false; // as it was judged before
  };
  std::map<worker_id, entry> known_; // only those in trouble
  std::map<worker_id, work> work_;
};

} // namespace ballast::coordinator
