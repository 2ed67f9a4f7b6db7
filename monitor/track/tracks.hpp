/// The files of a run for trackers (job field `track`), in track/ of the run
/// directory: a row for each committed step and each evaluation, once whatever
/// died. steps.jsonl and the journal are the truth: each life of the
/// coordinator writes the files anew from those, and adds to them from there.
///
/// They are a convenience: what cannot be written is told once, and the run
/// goes on without. Owned by the coordinator's thread.
#pragma once

#include "runtime/coordinator/run_event.hpp"
#include "runtime/ledger/commit.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ballast::monitor {

/// One format. Throws std::exception.
class track_file {
public:
  virtual ~track_file() = default;
  virtual void step(const ledger::committed_step& one) = 0;
  virtual void evaluated(double wall_s,
                         const coordinator::events::evaluated& what) = 0;
  /// What was told so far can be read.
  virtual void flush() = 0;
};

class tracks {
public:
  using teller = std::function<void(const std::string& trouble)>;

  /// `wanted`: as in the job. Files of these formats that an earlier life wrote
  /// are removed; those of others stay.
  tracks(std::filesystem::path folder, const std::vector<std::string>& wanted,
         teller tell);

  void committed(std::span<const ledger::committed_step> steps);
  void evaluated(double wall_s, const coordinator::events::evaluated& what);

private:
  template <class Work>
  void each(const Work& work);

  std::filesystem::path folder_;
  teller tell_;
  std::vector<std::unique_ptr<track_file>> files_;
};

} // namespace ballast::monitor
