/// When a worker may forget chunks that others own now: once it has applied a
/// step under the plan that no longer names them. Not at the switch itself: a
/// fence then may find that nobody made a step under the plan, and go back to
/// the one before; but who applied one says so in its answer, and that settles
/// it. What is on its way here for a later plan stays, too.
///
/// The store is a cache: what is kept too long costs memory, what is forgotten
/// too early is read again. Not thread-safe; the engine guards it.
#pragma once

#include "data/store/chunk_store.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/messages/messages.hpp"

#include <optional>
#include <vector>

namespace ballast::actors {

class chunk_release {
public:
  /// This worker acts under that plan from its next step on.
  void in_force(const ledger::plan& now) { fresh_ = now; }
  /// These chunks are fetched for a plan that is not in force yet.
  void fetching(const fetch_order& what) { fetched_ = what; }
  /// These steps were applied. Drops what `self` needs neither now nor, if
  /// another generation is getting ready, under `next`; how many chunks.
  size_t applied(const std::vector<ledger::step_record>& steps,
                 const ledger::plan* next, worker_id self,
                 const ledger::manifest& set, data::chunk_store& from);

private:
  std::optional<ledger::plan>
      fresh_; // in force, but no step of it is applied yet
  std::optional<fetch_order> fetched_;
};

} // namespace ballast::actors
