/// What an earlier life of a coordinator left of a run in its journal and its
/// files, for the next one. Plain data.
#pragma once

#include "runtime/balance/plan_note.hpp"
#include "runtime/coordinator/balance_account.hpp"
#include "runtime/coordinator/standing_requests.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/commit.hpp"
#include "runtime/ledger/ledger.hpp"
#include "runtime/ledger/lineage.hpp"
#include "runtime/ledger/plan.hpp"
#include "runtime/messages/reports.hpp"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ballast::coordinator {

struct past_membership {
  ballast::generation generation{};
  std::vector<worker_id> workers; // by rank
  std::vector<std::string> names;
  std::vector<uint32_t> incarnations;
};

struct past_plan {
  ledger::plan body;
  std::optional<ledger::position> effective; // empty: only offered
  balance::plan_note note;
  bool told = false; // by an event: that it took effect, or was dropped
};

struct past_checkpoint {
  ledger::checkpoint_identity holds;
  std::string file;
  bool in_memory = false;
};

struct past_run {
  job begun; // as it was first asked for: the data are prepared for that
  job what;  // as it is asked for now
  std::string name;
  uint64_t rows = 0;                         // of the training set
  std::vector<past_membership> memberships;  // ascending
  std::vector<past_plan> plans;              // ascending
  std::vector<ledger::committed_step> steps; // all that were shown
  uint64_t undone = 0;     // times that the run went back behind shown steps
  step_number committed{}; // up to here, by the journal
  /// Ascending; of one step the disk's comes first.
  std::vector<past_checkpoint> checkpoints;
  std::optional<evaluation_report> test;        // the newest
  std::map<step_number, uint64_t> evaluated_ns; // of those that were told
  std::vector<evaluation_report> evaluations;   // likewise, ascending
  std::set<step_number> restarts; // first steps behind a checkpoint
  std::vector<std::pair<std::string, double>> recoveries; // reason, ms
  /// Those that an event tells the loss of: name and incarnation.
  std::set<std::pair<std::string, uint32_t>> lost;
  /// Workers whose process may still live, by name; nothing: not known.
  std::optional<std::set<std::string>> alive;
  /// A user says that it is to go on, not whoever watched over it all the time.
  bool asked_again = false;
  std::string probe; // of its workers; empty: none is known
  standing_requests asked;
  balance_account balance; // without its state
};

} // namespace ballast::coordinator
