/// The repairs of the plan in force for the loss of each of its workers, made
/// on a thread of low priority as soon as the plan is in force: when a worker
/// dies its plan is there. Thread-safe; no call waits for a repair, but the
/// destructor may, some milliseconds.
#pragma once

#include "runtime/balance/foreseen_repair.hpp"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace ballast::actors {

class foreseen_repairs {
public:
  foreseen_repairs(std::shared_ptr<const ledger::manifest> set,
                   std::shared_ptr<const balance::chunk_labels> labels);
  ~foreseen_repairs();

  /// This plan is in force; what was made for another one is forgotten.
  void in_force(ledger::plan now, double skew_tv);
  /// Nothing, if it is not made. The others are not made any more: what is
  /// asked for leads to another plan.
  std::optional<balance::foreseen_repair>
  take(const balance::place_shares& what);

private:
  struct question {
    ledger::plan of;
    double skew_tv = 0;
  };
  void work();

  const std::shared_ptr<const ledger::manifest> set_;
  const std::shared_ptr<const balance::chunk_labels> labels_;
  std::mutex mutex_; // guards the following, and is held for a moment only
  std::condition_variable changed_;
  std::optional<question> asked_; // and not begun
  uint64_t wanted_ = 0;           // the number of what is asked for
  bool stop_ = false;
  std::vector<balance::foreseen_repair> made_;
  std::thread thread_; // the last: it uses all of these
};

} // namespace ballast::actors
