/// What a run tells of its files: checkpoints, models, and what was restored or
/// set aside. A part of run_event.hpp. Plain data.
#pragma once

#include "runtime/base/errors.hpp"
#include "runtime/base/ids.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace ballast::coordinator::events {

using milliseconds = std::chrono::duration<double, std::milli>;

struct checkpoint {
  step_number step{};
  epoch_number epoch{};
  uint64_t bytes = 0;
  milliseconds took{};
  bool in_memory = false; // else on the disk
};
struct checkpoint_failed {
  step_number step{};
  failure why;
};
struct checkpoint_refused {
  std::string checkpoint;
  std::string reason;
  std::string kept; // empty: it lay in memory, and is removed
};
/// No checkpoints are made in memory from here on.
struct no_memory_checkpoints {
  std::string reason;
};
/// It lies in the place of the job's copy_to, complete.
struct checkpoint_copied {
  step_number step{};
  uint64_t bytes = 0; // with what belongs to it
  milliseconds took{};
  std::string to;
};
/// It does not, and is not going to.
struct checkpoint_not_copied {
  step_number step{};
  failure why;
};
/// The model of a run that is done, and what belongs to it.
struct model_copied {
  uint64_t bytes = 0;
  milliseconds took{};
  std::string to;
};
struct model_not_copied {
  failure why;
};
/// A copy is here again, since the run goes on from it.
struct checkpoint_fetched {
  step_number step{};
  std::string from;
  std::string reason; // why it was needed
};
/// The run begins with parameters of another one.
struct branched {
  std::string run;
  step_number step{};
  std::string sha256; // of the parameters
};
struct model_refused {
  std::string reason;
  std::string kept;
};
/// steps.jsonl lacked steps that the ledger proves.
struct steps_restored {
  step_number from{};
  step_number to{};
};
struct manifest_restored {
  std::string reason;
};
struct damaged_tail {
  std::string file;
  uint64_t line = 0;
  uint64_t bytes = 0;
  std::string reason;
  std::string kept;
};

} // namespace ballast::coordinator::events
