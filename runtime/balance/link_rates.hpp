/// How fast chunks really travel between two workers, by the copies that were
/// made. A rate is the median over the newest copies, each counted by its
/// bytes: one hiccup, or many small copies that are mostly latency, do not
/// change it. Nothing is assumed where nothing was seen. Pure.
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

namespace ballast {

/// What one worker got in one request from another one, or from the origin.
struct link_copy {
  worker_id from{}; // 0 = the origin
  worker_id to{};
  uint64_t bytes = 0;
  uint64_t ns = 0; // of the request, waiting for the rate limit excluded
};

class link_rates {
public:
  void add(const link_copy& copy);
  /// Forgets everybody else.
  void keep(const std::set<worker_id>& here);

  /// Bytes per second; nothing where too few copies were made.
  std::optional<double> between(worker_id from, worker_id to) const;
  /// The same from whomever.
  std::optional<double> into(worker_id to) const;
  /// Who sent something to that worker, and how many copies are remembered.
  std::map<worker_id, size_t> sources_of(worker_id to) const;

private:
  std::map<std::pair<worker_id, worker_id>, std::deque<link_copy>> newest_;
};

/// How long these moves are on their way, at least: receivers side by side,
/// each of them source after source. Links nobody knows take no time. `ranks`:
/// the workers by rank.
double travel_s(const std::vector<shard_move>& moves,
                const std::vector<worker_id>& ranks, const link_rates& links);

/// How many of the first moves are on their way for no longer than that; at
/// least one.
size_t fit_in_travel(const std::vector<shard_move>& moves, double seconds,
                     const std::vector<worker_id>& ranks,
                     const link_rates& links);

} // namespace ballast
