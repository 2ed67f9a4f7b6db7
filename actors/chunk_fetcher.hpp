/// Gets chunks of a run into a worker's store: its share from the origin, and
/// what it is to own after a shard move from the worker that owns it now, at a
/// bounded rate beside training. A source that is gone, stands still or sends
/// damaged chunks is given up for the origin; the origin is the last. The store
/// is a cache, so a fetch may be broken off anywhere; chunk_release.hpp is the
/// other half.
///
/// One object per thread. Throws ballast_error: unreachable (also: no byte for
/// as long as the source's patience), invalid_data, device_failed (no room).
#pragma once

#include "data/store/chunk_store.hpp"
#include "data/transfer/chunk_service.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/messages/messages.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace ballast::actors {

/// A process that serves chunks.
struct chunk_source {
  std::string name; // of a worker, or origin_name
  std::string address;
};

/// Of one kind, for one store.
struct wanted_chunks {
  data::chunk_store* into = nullptr;
  data::data_part part = data::data_part::train;
  ledger::row_shape row;
  std::vector<ledger::chunk_info> chunks;
  bool needed_now = false; // a full store makes room, whatever it takes
};

class chunk_fetcher {
public:
  /// How a fetch is done.
  struct terms {
    std::string purpose = {};            // for log lines: "plan 7"
    uint64_t bytes_per_s = 0;            // 0 = no limit
    std::function<bool()> given_up = {}; // the chunks are wanted no more
    std::function<void(uint64_t)> progress = {}; // bytes of each message
  };
  /// What came of all fetches.
  struct account {
    uint64_t bytes = 0;
    uint64_t chunks = 0;
    uint32_t refetched = 0; // arrived damaged, or the source was given up
    std::vector<damaged_chunk> damaged;  // the first damaged_told_max
    std::vector<chunk_request> requests; // the last requests_told_max
  };

  chunk_fetcher(std::string token, std::string origin)
      : token_(std::move(token)), origin_{origin_name, std::move(origin)} {}

  /// Those of `wanted` that are not in the store yet. Returns early, without an
  /// error, once it is given up.
  void fetch(const wanted_chunks& wanted, const chunk_source& from,
             const terms& how);
  /// Single rows, from the origin, as one chunk in their order.
  data::chunk_ptr fetch_rows(data::data_part part,
                             std::span<const ledger::row_ref> rows,
                             const ledger::row_shape& row, const terms& how);
  /// Of the origin; its manifest, a checkpoint.
  std::string fetch_blob(const std::string& name,
                         const std::function<bool()>& given_up = {});

  const std::string& token() const { return token_; }
  const chunk_source& origin() const { return origin_; }
  /// The coordinator, and the origin with it, was restarted elsewhere.
  void set_origin(std::string address) { origin_.address = std::move(address); }
  const account& done() const { return done_; }

private:
  bool is_origin(const chunk_source& one) const {
    return one.address == origin_.address;
  }
  data::chunk_client& client_of(const chunk_source& from);
  void request(const wanted_chunks& wanted,
               std::span<const ledger::chunk_info> part,
               const chunk_source& from, const terms& how);
  void wait_for_rate(const terms& how) const;

  std::string token_;
  chunk_source origin_;
  std::unique_ptr<data::chunk_client>
      client_; // the first call on one takes long
  std::string connected_to_;
  account done_;
  std::chrono::steady_clock::time_point begun_ =
      std::chrono::steady_clock::now();
};

/// The chunks that `order` names, with a fetcher of its own. Never throws: the
/// answer says what went wrong. Lowers the priority of the calling thread,
/// because training comes first.
chunks_fetched fetch_for_plan(data::chunk_store& into,
                              const ledger::manifest& set,
                              const assignment& self, const fetch_order& order,
                              const std::function<bool()>& given_up);

} // namespace ballast::actors
