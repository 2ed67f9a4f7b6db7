/// Checks that every sample was used exactly once, or exactly as often as the
/// job's sampling says. Compares three records that
/// different processes wrote: the ledger (plans), the committed steps
/// (steps.jsonl), and the samples that the workers say they used (traces).
///
/// Pure; the caller reads the files. Pass the steps in order, then the traces
/// in any order, then ask for the report. Memory: four bits for each sample;
/// with traces 8 bytes for each sample, 16 for each step and worker, and two
/// bits for each sample and epoch.
#pragma once

#include "runtime/ledger/manifest.hpp"
#include "runtime/ledger/replay.hpp"
#include "runtime/ledger/use_counter.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace ballast::ledger {

struct audit_input {
  const manifest* set = nullptr; // must outlive the audit
  recorded_run run;
  /// The number of epochs in the job; no step may follow them.
  uint64_t epochs = 1;
  /// The job has `trace_samples`: every committed step then needs trace lines.
  bool traced = false;
};

/// The checked fields of a line of steps.jsonl.
struct step_line {
  position at;
  ballast::generation generation{};
  plan_number plan{};
  uint64_t world = 0;
  uint64_t samples = 0;
};

/// A line of a worker's trace.
struct trace_line {
  worker_id worker{};
  ballast::generation generation{};
  plan_number plan{};
  position at;
  std::span<const uint64_t> ids;
  /// Its location, for messages: "trace/w1.1.jsonl line 7".
  std::string_view where;
};

struct audit_report {
  sample_counts ledger; // by plans and steps
  sample_counts traces; // by the traces of committed steps; 0 without them
  bool traced = false;
  bool of_uses = false; // by the job's sampling; else each sample once
  uint64_t epochs_finished = 0;
  uint64_t steps_committed = 0; // lines of steps.jsonl
  uint64_t trace_lines = 0;     // of committed steps
  uint64_t attempt_lines = 0;   // of attempts that did not commit
  uint64_t problems = 0;        // the count of all; the first ones as text:
  std::vector<std::string> first_problems;

  bool fine() const { return problems == 0; }
  /// The worse of both records, for the run's report.
  sample_counts counts() const;
};

class audit {
public:
  static constexpr size_t problems_named_max = 10;

  explicit audit(audit_input input);
  audit(const audit&) = delete; // replay_ refers to input_
  audit& operator=(const audit&) = delete;

  void step(const step_line& line);
  void trace(const trace_line& line);
  /// A contradiction that the caller found while reading.
  void problem(const std::string& what);
  /// Lines of steps.jsonl so far.
  uint64_t steps_committed() const { return report_.steps_committed; }
  /// Call once, at the end.
  audit_report report();

private:
  /// The samples that one worker used in one step according to the ledger, as a
  /// set, so that the order within the step does not matter.
  struct use {
    uint64_t hash = 0;
    uint32_t count = 0;
    bool seen = false;
  };
  struct walked_step {
    size_t plan = 0; // index into plans_
    epoch_number epoch{};
    size_t first_use = 0; // index into uses_, one entry for each rank
    bool committed = false;
  };
  struct known_plan {
    plan_number number{};
    ballast::generation generation{};
    std::map<worker_id, size_t> ranks;
  };
  struct doubtful_line {
    step_number step{};
    size_t rank = 0;
    std::string where;
    std::vector<uint64_t> ids; // sorted
  };

  bool past_the_end(step_number step) const;
  void check_manifest();
  void compare(const step_line& line);
  void walk(bool committed);
  void end_epoch(epoch_number epoch, bool over);
  std::vector<uint32_t> expected_uses(epoch_number epoch, bool by_id) const;
  use_counter new_counter() const;
  void finish_traces();
  void name_differences();

  audit_input input_;
  uint64_t rows_ = 0; // samples
  uint64_t steps_per_epoch_ = 1;
  std::vector<uint64_t> chunk_offset_;
  std::vector<uint64_t> ids_; // by row over all chunks; only with traces
  replay replay_;
  std::vector<std::vector<row_ref>> drawn_; // reused
  use_counter epoch_uses_; // of committed steps of the open epoch, by row
  std::vector<known_plan> plans_;
  std::vector<walked_step> walked_; // step s at s - 1; only with traces
  std::vector<use> uses_;
  std::map<epoch_number, use_counter> traced_uses_;
  std::vector<doubtful_line> doubtful_; // the first few
  uint64_t doubtful_more_ = 0;
  step_number last_line_{};
  epoch_number open_epoch_{1};
  audit_report report_;
};

} // namespace ballast::ledger
