/// Brings the rows that a worker's steps use into its store. What a step waits
/// for comes first, on the thread that waits: of a large chunk only the rows
/// themselves. They come from this machine's disk where the set lies there, and
/// else from the origin. The rest of the share follows beside training, by the
/// loader threads. So nothing but a step ever waits for data, and only for the
/// rows that it uses itself.
///
/// Owns the store and the connections to the origin. Throws ballast_error:
/// invalid_data (damaged at the origin, too), device_failed (no room). An
/// origin that is away is waited for, as long as the rows are wanted.
#pragma once

#include "actors/chunk_fetcher.hpp"
#include "actors/loader_threads.hpp"
#include "actors/missing_rows.hpp"
#include "actors/nearby_rows.hpp"
#include "data/loader/row_source.hpp"
#include "runtime/ledger/plan.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace ballast::actors {

/// How much has arrived of what a step waits for; every heartbeat says so.
class bytes_coming {
public:
  void begin(uint64_t awaited) {
    arrived_ = 0;
    awaited_ = awaited;
  }
  void arrived(uint64_t bytes) { arrived_ += bytes; }
  void end() { awaited_ = 0; }
  /// Awaited and what of it is here: less, as long as it is not over.
  std::pair<uint64_t, uint64_t> now() const {
    const uint64_t awaited = awaited_;
    return {awaited,
            awaited == 0 ? 0 : std::min<uint64_t>(arrived_, awaited - 1)};
  }

private:
  std::atomic<uint64_t> awaited_{0};
  std::atomic<uint64_t> arrived_{0};
};

/// How fast rows come that are not here: bytes of requests that are over, and
/// how long those took. What a worker may own before it is here is judged by
/// it.
class timed_reads {
public:
  using clock = std::chrono::steady_clock;
  /// One request, from its construction on.
  class request {
  public:
    explicit request(timed_reads& of) : of_(of) {}
    void arrived(uint64_t bytes) { bytes_ += bytes; }
    /// Of its time, waiting for somebody to whom the way belongs.
    void stood_still(clock::duration time) { begun_ += time; }
    void over() {
      if (bytes_ > 0)
        of_.ns_ += uint64_t(std::max<int64_t>(
            1, std::chrono::nanoseconds(clock::now() - begun_).count()));
      of_.bytes_ += bytes_;
    }

  private:
    timed_reads& of_;
    clock::time_point begun_ = clock::now();
    uint64_t bytes_ = 0;
  };
  uint64_t bytes() const { return bytes_; }
  uint64_t ns() const { return ns_; }

private:
  std::atomic<uint64_t> bytes_{0};
  std::atomic<uint64_t> ns_{0};
};

/// Of a worker that owns more than its store holds, what is used next is there.
class share_residency final : public data::row_source {
public:
  /// `connected`: to the origin, for what is urgent. `set` must outlive this.
  /// `streams`: its share may be larger than the store; expect() says in which
  /// order it is used. `nearby`: the set, where this machine has it on disk.
  /// `kept`: where chunks of the origin are kept, too.
  share_residency(chunk_fetcher connected, const ledger::manifest& set,
                  uint64_t store_limit_bytes, bool streams = false,
                  std::unique_ptr<data::nearby_set> nearby = nullptr,
                  std::unique_ptr<data::chunk_disk> kept = nullptr);

  // -- any thread -------------------------------------------------------------

  data::chunk_store& store() { return store_; }
  /// The origin was restarted elsewhere.
  void set_origin(const std::string& address);
  /// This share, and the test chunks of the rank, are to be here soon.
  /// `limit_bytes`: of the store from now on, 0 = as it is.
  void bring(const ledger::plan& of, worker_id self, uint64_t limit_bytes);
  /// Likewise, and nothing else is.
  void bring_only(const ledger::plan& of, worker_id self);
  /// A generation is to begin: what is not for a step leaves the processors and
  /// the network to the way there, until its first step is made, or for a
  /// second.
  void hold() { loaders_.hold(); }
  std::pair<uint64_t, uint64_t> coming() const { return coming_.now(); }
  bool streams() const { return streams_; }
  data::bytes_read read_so_far() const override {
    return {from_origin_, nearby_.bytes_of_set(), nearby_.bytes_kept(),
            timed_.bytes(), timed_.ns()};
  }

  // -- of the steps -----------------------------------------------------------

  void expect(std::span<const chunk_id> upcoming) override;
  void reducing(bool begins) override { loaders_.reducing(begins); }
  void gather(data::data_part part, std::span<const ledger::row_ref> rows,
              const question& given_up, data::batch& out) override;
  data::chunk_ptr chunk_of(data::data_part part, chunk_id id,
                           const question& given_up) override;

private:
  lacking_chunks lacks(const ledger::plan& of, worker_id self) const;
  std::string origin() const;
  void say_held() const;
  const std::vector<ledger::chunk_info>& chunks_of(data::data_part part) const {
    return part == data::data_part::train ? set_.train : set_.test;
  }
  const ledger::chunk_info& about(data::data_part part, chunk_id id) const {
    return chunks_of(part).at(value(id));
  }
  void make_room(const lacking_chunks& coming, uint64_t limit_bytes);
  /// As long as it lives, a step waits for so many bytes.
  class step_waits {
  public:
    step_waits(share_residency& of, uint64_t bytes)
        : coming_(of.coming_), loaders_(of.loaders_) {
      coming_.begin(bytes);
    }
    ~step_waits() { coming_.end(); }

  private:
    bytes_coming& coming_;
    loader_threads::step_waits loaders_;
  };
  /// What a disk of this machine has of them; what is left is for the origin.
  void read_now(wanted_chunks& wanted, const question& given_up);
  /// Until these are here; throws if it is given up.
  void fetch_now(data::data_part part, const std::vector<chunk_id>& ids,
                 const question& given_up, data::chunk_store& into);
  void fetch_rows_now(data::data_part part,
                      std::span<const ledger::row_ref> rows,
                      const missing_rows& missing, const question& given_up,
                      std::vector<data::row_place>& places);
  chunk_fetcher::terms step_terms(const question& given_up);
  /// `fetch` from the origin, again as long as it cannot be reached.
  void insist(const std::string& what, const question& given_up,
              const std::function<void(const chunk_fetcher::terms&)>& fetch);
  /// On loader thread `i`.
  void load(wanted_chunks& wanted, size_t i);
  void note_arrived(const wanted_chunks& got);
  /// What came from the origin, onto the disk.
  void keep_arrived();
  void say_all_here();

  const ledger::manifest& set_;
  const bool streams_;
  data::chunk_store store_;
  nearby_rows nearby_;
  bytes_coming coming_;
  std::atomic<uint64_t> from_origin_{0};
  timed_reads timed_;

  std::mutex urgent_mutex_; // guards the following, and is held for long
  chunk_fetcher urgent_;

  mutable std::mutex mutex_;     // guards the following
  std::vector<chunk_id> unkept_; // came from the origin, are not on the disk
  bool unsaid_ = true; // what is held, since the last change of the share
  std::string origin_;

  std::vector<chunk_fetcher> background_; // by loader thread
  loader_threads loaders_;                // the last: it uses all of these
};

} // namespace ballast::actors
