/// Rows that arrived at a worker and stay there for now, by chunk: those that
/// moved in the last windows, because a measurement that would send them on may
/// be short-lived; and those that were given, to measure a worker or to cover a
/// class, until a plan for sizes and labels is in force. Pure; one per
/// balancer.
#pragma once

#include "runtime/balance/rows_ahead.hpp"
#include "runtime/base/ids.hpp"

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace ballast::balance {

struct arrival {
  chunk_id chunk{};
  worker_id at{};
  friend auto operator<=>(const arrival&, const arrival&) = default;
};

class recent_arrivals {
public:
  void moved(const std::vector<arrival>& which, uint64_t window);
  void given(const std::vector<arrival>& which) {
    given_.insert(which.begin(), which.end());
  }
  /// Who gets which chunk by the newest plan that moves rows.
  void planned(std::map<chunk_id, rows_ahead> receivers) {
    receivers_ = std::move(receivers);
  }
  /// Null: nobody got it by that plan.
  const rows_ahead* receiver_of(chunk_id id) const {
    const auto found = receivers_.find(id);
    return found == receivers_.end() ? nullptr : &found->second;
  }
  void forget_given() { given_.clear(); }
  /// Forgets those that moved before this window.
  void forget_before(uint64_t window);

  bool none_moved() const { return moved_.empty(); }
  bool none_given() const { return given_.empty(); }
  bool has_moved(const arrival& what) const { return moved_.contains(what); }
  bool was_given(const arrival& what) const { return given_.contains(what); }
  /// The window of the chunk's newest move; empty: long ago, or never.
  std::optional<uint64_t> last_move(chunk_id id) const;

private:
  std::map<arrival, uint64_t> moved_; // the window of each
  std::set<arrival> given_;
  std::map<chunk_id, rows_ahead> receivers_;
};

} // namespace ballast::balance
