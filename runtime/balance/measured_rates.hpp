/// Measured transfer rates of chunks between two workers. A rate is the median
/// over the newest copies, weighted by their bytes, so that one outlier, or
/// many small copies dominated by latency, do not change it. Without
/// measurements nothing is assumed. Pure.
#pragma once

#include "runtime/balance/shard_moves.hpp"
#include "runtime/base/ids.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace ballast::balance {

/// One request of a copy from another worker or from the origin.
struct link_copy {
  worker_id from{}; // 0 = the origin
  worker_id to{};
  uint64_t bytes = 0;
  uint64_t ns = 0; // of the request, without waiting for the rate limit
};

class measured_rates {
public:
  /// `enough_bytes`: so many are a measurement however few copies they are.
  explicit measured_rates(uint64_t enough_bytes = UINT64_MAX)
      : enough_bytes_(enough_bytes) {}

  void add(const link_copy& copy);
  /// Forgets all other workers.
  void keep(const std::set<worker_id>& here);

  /// Bytes per second; nothing if there were too few copies, and bytes.
  std::optional<double> between(worker_id from, worker_id to) const;
  /// The same over all sources.
  std::optional<double> into(worker_id to) const;
  /// The sources of that worker, and how many copies of each are remembered.
  std::map<worker_id, size_t> sources_of(worker_id to) const;

private:
  using copies = std::vector<const link_copy*>;
  std::optional<double> rate_of(copies seen) const;

  uint64_t enough_bytes_;
  std::map<std::pair<worker_id, worker_id>, std::deque<link_copy>> newest_;
};

/// A lower bound of the time that these moves take: receivers in parallel, the
/// sources of each in sequence. Unmeasured links take no time. `ranks`: the
/// workers by rank.
double travel_s(const std::vector<shard_move>& moves,
                const std::vector<worker_id>& ranks,
                const measured_rates& links);

/// How many of the first moves fit into that time; at least one.
size_t fit_in_travel(const std::vector<shard_move>& moves, double seconds,
                     const std::vector<worker_id>& ranks,
                     const measured_rates& links);

/// Keeps these.
void cut_to(move_list& list, double seconds,
            const std::vector<worker_id>& ranks, const measured_rates& links);

} // namespace ballast::balance
