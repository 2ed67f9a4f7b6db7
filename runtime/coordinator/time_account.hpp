/// Where the time of the workers went: each moment of a worker that is
/// connected has one cause, and the causes sum to that time (but for a step
/// under way). What a step took is what its worker measured; of a reduction the
/// worker that came last waited for nobody, so what it took is communication,
/// and what others took longer is waiting for a straggler.
///
/// Of this life of the coordinator. Pure: time comes with the calls. Owned by
/// the coordinator's core.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/base/instant.hpp"
#include "runtime/base/words.hpp"
#include "runtime/coordinator/run_phase.hpp"
#include "runtime/messages/reports.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

namespace ballast::coordinator {

enum class time_cause : uint8_t {
  compute,       // of steps that count: forward, backward, update
  data,          // waiting for rows
  straggler,     // waiting for a slower worker
  communication, // adding up gradients
  evaluation,
  start,    // loading rows and model, and joining
  recovery, // after a loss, until training went on
  paused,
  waiting, // for workers or memory
  other,   // snapshots for checkpoints, steps that were given up, the end
};
constexpr size_t time_causes = 10;

struct spent_time {
  std::array<instant, time_causes> by{};
  instant& operator[](time_cause why) { return by[size_t(why)]; }
  instant operator[](time_cause why) const { return by[size_t(why)]; }
  instant total() const;
  spent_time& operator+=(const spent_time& more);
};

class time_account {
public:
  /// Of a worker, since its report before.
  void worked(worker_id who, const progress_report& done);
  void evaluated(worker_id who, step_number after, uint64_t ns);
  /// Since the last call the run was in this phase, with these connected
  /// workers: members, and others that are none (yet). Some 20 times a second.
  void pass(instant now, run_phase phase, std::span<const worker_id> members,
            std::span<const worker_id> others);

  /// With the steps that were reported since, less than a second of them.
  time_account settled() const;
  /// Nothing of a worker that it does not know.
  std::optional<spent_time> of(worker_id who) const;
  /// Of all workers together, also of those that are gone.
  spent_time of_all() const;

  /// What cost most of the last seconds beside computing; of a cause that is
  /// some worker's, the one that is it most.
  struct finding {
    time_cause why = time_cause::compute;
    double part = 0; // of the time of all workers
    std::optional<worker_id> who = {};
    double part_of_who = 0; // of its own time
  };
  /// Nothing before a second of training.
  std::optional<finding> bound() const;

private:
  struct entry {
    spent_time spent;
    spent_time recent; // halved every `half_life`
    spent_time window; // of the steps reported since it was settled
    instant reduce{};  // likewise: communication or waiting
    instant wall{};    // training time since then
    step_number evaluated{};
    instant owed{}; // time that is not explained yet; below 0: too much is
  };
  void settle();
  void fade(instant passed);
  static void add(entry& to, time_cause why, instant time);

  std::map<worker_id, entry> workers_;
  instant last_{-1};
  instant since_settled_{};
};

} // namespace ballast::coordinator

template <>
inline constexpr auto ballast::words_of<ballast::coordinator::time_cause> =
    std::to_array<std::string_view>({"compute", "data", "straggler",
                                     "communication", "evaluation", "start",
                                     "recovery", "paused", "waiting", "other"});
