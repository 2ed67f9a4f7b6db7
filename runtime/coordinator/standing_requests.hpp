/// What users asked of a run that outlasts the asking: how it is balanced, how
/// many workers it keeps, who is to leave, whether it stands still or stops,
/// and a checkpoint that is still to be made. The journal keeps it, so a
/// restarted coordinator does, too. Plain data.
///
/// Each of the first two stands beside what the job said when it was asked:
/// whoever resumes the run with another job has asked anew, and that counts.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/job/job.hpp"

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>

namespace ballast::coordinator {

struct standing_requests {
  struct of_balance { // set_balance
    balance_spec job;
    balance_spec now;
  };
  struct of_workers { // scale
    uint32_t job = 0;
    uint32_t now = 0;
  };
  std::optional<of_balance> balance;
  std::optional<of_workers> workers;
  struct of_stop { // stop
    bool by_signal = false;
  };
  std::set<worker_id> leaving;     // drain_worker
  bool paused = false;             // pause; resume ends it
  std::optional<of_stop> stop;     // until the run has stopped
  std::optional<step_number> copy; // checkpoint: of this step or a later one

  /// What counts, for this job.
  balance_spec balance_of(const job& what) const;
  std::optional<uint32_t> workers_of(const job& what) const;
  /// Exit code of a run that was stopped.
  int stop_code() const { return stop && stop->by_signal ? 130 : 0; }
};

void to_json(nlohmann::json& out, const standing_requests& in);
void from_json(const nlohmann::json& in, standing_requests& out);

} // namespace ballast::coordinator
