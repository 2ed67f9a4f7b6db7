/// What the coordinator of a run writes into the journal, and the numbers that
/// follow from it. Owned by run_record, used by the coordinator's thread;
/// closed when the run is over.
#pragma once

#include "monitor/logs/digest_log.hpp"
#include "monitor/logs/event_log.hpp"
#include "monitor/metrics/metrics.hpp"
#include "runtime/coordinator/actions.hpp"
#include "store/journal.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

namespace ballast::actors {

class run_journal {
public:
  run_journal(const std::filesystem::path& folder,
              std::shared_ptr<monitor::coordinator_probe> probe)
      : book_(store::journal::open_for_writing(folder)),
        digests_(folder / "digests.jsonl"), probe_(std::move(probe)) {}

  /// Throws ballast_error{internal} once it is closed.
  store::journal& open();
  void close() { book_.reset(); }

  // -- the core's actions; each throws ballast_error{disk_full}
  void perform(const coordinator::journal_change& what);
  void perform(const coordinator::journal_offer& what);
  void perform(const coordinator::journal_effective& what);
  void perform(const coordinator::journal_requests& what);
  void perform(const coordinator::journal_job& what);
  void perform(const coordinator::journal_probe& what);
  void perform(const coordinator::journal_commit& what);
  void perform(const coordinator::write_digests& what) {
    digests_.append(what.step, what.tensors, what.digests);
  }
  /// Appends the event to its log, and keeps what the next coordinator must
  /// know of it.
  void tell(const coordinator::run_event& what, monitor::event_log& events);

private:
  std::optional<store::journal> book_;
  monitor::digest_log digests_;
  std::shared_ptr<monitor::coordinator_probe> probe_;
};

} // namespace ballast::actors
