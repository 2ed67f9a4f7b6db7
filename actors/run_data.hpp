/// What a worker holds of a run's data set: manifest, chunks, and the service
/// that hands them to others. It knows which chunks are still on their way and
/// which nobody needs here any more.
///
/// Thread-safe, apart from open() and serve(), which one thread at a time
/// calls. Throws ballast_error.
#pragma once

#include "actors/chunk_fetcher.hpp"
#include "actors/chunk_release.hpp"
#include "actors/share_residency.hpp"
#include "data/store/chunk_store.hpp"
#include "data/transfer/chunk_service.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/epoch_uses.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/messages/messages.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace ballast::actors {

class run_data {
public:
  using question = std::function<bool()>;

  explicit run_data(const assignment& first)
      : token_(first.token), self_(first.worker) {}

  // -- loading, one thread at a time ------------------------------------------

  /// Gets the manifest and makes a store, if that was not done yet.
  /// `store_limit_bytes` 0 = what the order says, or four fifths of the free
  /// memory. Of a job with a window, what this worker owns may be more than
  /// that; then so much of it is kept on the disk where the cache is, unless
  /// that has it all.
  void open(const assignment& order, const job& what,
            uint64_t store_limit_bytes, const question& given_up);
  /// What `order`'s plan gives this worker and is not here yet is on its way
  /// from now on; nothing waits for it.
  void bring_share(const assignment& order);
  /// Serves chunks and blobs from now on, if it does not yet.
  void serve(const std::string& bind_host,
             data::chunk_service::blob_finder blobs);

  // -- from here on any thread, once it serves --------------------------------

  const ledger::manifest& set() const { return set_; }
  /// Of each training chunk; of `uses` how many of those.
  const shared_list<uint32_t>& chunk_rows() const { return chunk_rows_; }
  /// Null: each row is used once in an epoch.
  const std::shared_ptr<const ledger::epoch_uses>& uses() const {
    return uses_;
  }
  data::chunk_store& store() { return residency_->store(); }
  /// For the steps.
  data::row_source& rows() { return *residency_; }
  std::string address() const { return service_->address(); }
  void stop_serving(std::chrono::milliseconds deadline);
  /// Chunks that it is to own soon. Never throws.
  chunks_fetched fetch(const assignment& self, const fetch_order& order,
                       const question& given_up);
  /// This plan is in force from the next step on.
  void in_force(const ledger::plan& now);
  /// The generation is fenced.
  void hold();
  /// These chunks are on their way for a plan that is not in force yet.
  void awaits(const fetch_order& order);
  /// These steps were applied: forgets what nobody needs here any more. Before
  /// anybody else can know of them, and send more. `next`: the plan of a
  /// generation that gets ready, or null.
  void release(const std::vector<ledger::step_record>& steps,
               const ledger::plan* next, worker_id self);
  /// Of what a step waits for: bytes, and how many of them have arrived.
  std::pair<uint64_t, uint64_t> coming() const;
  /// A fault on purpose: that many more chunks are served damaged.
  void damage_next(uint64_t chunks) { damage_next_ = chunks; }

private:
  const std::string token_;
  const worker_id self_;
  ledger::manifest set_;
  shared_list<uint32_t> chunk_rows_;
  std::shared_ptr<const ledger::epoch_uses> uses_;
  std::unique_ptr<share_residency> residency_; // once the set is known
  std::atomic<bool> opened_{false};
  std::unique_ptr<data::chunk_service> service_;
  std::mutex release_mutex_;
  chunk_release release_;
  std::atomic<uint64_t> damage_next_{0};
};

} // namespace ballast::actors
