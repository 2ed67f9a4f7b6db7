/// What the coordinator of a run writes into the journal, and the numbers that
/// follow from it. Owned by run_record, used by the coordinator's thread;
/// closed when the run is over.
#pragma once

#include "monitor/logs/event_log.hpp"
#include "monitor/metrics/metrics.hpp"
#include "runtime/coordinator/actions.hpp"
#include "store/journal.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

namespace ballast {

class run_journal {
public:
  run_journal(const std::filesystem::path& folder,
              std::shared_ptr<coordinator_probe> probe)
      : book_(journal::open_for_writing(folder)), probe_(std::move(probe)) {}

  /// Throws ballast_error{internal} once it is closed.
  journal& open();
  void close() { book_.reset(); }

  // -- the core's actions; each throws ballast_error{disk_full}
  void perform(const journal_change& what);
  void perform(const journal_offer& what);
  void perform(const journal_effective& what);
  void perform(const journal_requests& what);
  void perform(const journal_commit& what);
  /// Appends the event to its log, and keeps what the next coordinator must
  /// know of it.
  void tell(const run_event& what, event_log& events);

private:
  std::optional<journal> book_;
  std::shared_ptr<coordinator_probe> probe_;
};

} // namespace ballast
