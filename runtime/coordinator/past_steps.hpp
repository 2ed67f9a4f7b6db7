/// What steps.jsonl and checkpoints/ of an earlier life are worth, held against
/// the ledger: every line must be what the ledger says of that step, and a
/// checkpoint must be of this history. Lines that a power cut took while the
/// ledger or a checkpoint proves their steps are made again. Pure.
#pragma once

#include "runtime/base/errors.hpp"
#include "runtime/coordinator/past_run.hpp"
#include "runtime/coordinator/run_tally.hpp"
#include "runtime/ledger/replay.hpp"
#include "runtime/messages/evaluation_schedule.hpp"

#include <optional>
#include <string>
#include <vector>

namespace ballast::coordinator {

struct refused_checkpoint {
  past_checkpoint what;
  std::string why;
};

struct past_steps {
  failure problem; // then nothing else counts
  run_tally tally;
  std::optional<ledger::ledger> book; // none before the first plan
  std::vector<restart_point> points;
  std::vector<ledger::committed_step>
      lost; // steps.jsonl lacks them; loss unknown
  std::vector<refused_checkpoint> refused;
};

/// `lineage`: before the first step. `steps_max`: of the whole run.
/// `due`: evaluations, which are no time of training; none: there is no test
/// part.
past_steps check_past_steps(const past_run& past,
                            const ledger::recorded_run& record,
                            uint64_t lineage, uint64_t steps_max,
                            std::optional<evaluation_schedule> due = {});

} // namespace ballast::coordinator
