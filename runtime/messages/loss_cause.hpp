/// Why a worker counts as lost: what somebody saw of it, as a fact. Plain data;
/// the sentence for it is written here and nowhere else.
#pragma once

#include "runtime/base/errors.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>

namespace ballast {

/// How a process ended, as its parent saw it.
struct process_end {
  enum class kind : uint8_t {
    exited,      // `number` is its exit code
    killed,      // `number` is the signal
    not_started, // it never ran
  };
  kind how = kind::exited;
  int32_t number = 0;
  /// The last words of its log, or why it could not be started.
  std::string words = {};
};

namespace losses {

/// Its connection to the coordinator closed.
struct connection_closed {};
/// The kernel told one of its peers that its process is gone.
struct process_gone {};
/// Its process ended while there was no coordinator.
struct ended_unseen {};
struct silent {
  std::chrono::milliseconds span{}; // without a heartbeat
  bool fenced = false;              // nor did it answer the fence
};
/// It lives, and did not come back to the coordinator that took over.
struct not_returned {};
/// Its process has joined as another worker.
struct joined_anew {};
/// A user wanted it.
struct evicted {};
/// Nothing of its share arrives.
struct starved {
  std::chrono::seconds span{};
  uint64_t arrived_bytes = 0;
  uint64_t share_bytes = 0;
};
/// Something of its own keeps it from taking part.
struct dismissed {
  errc code = errc::none; // none: `why` says it all
  std::string why;
};
/// Between it and another worker nothing goes.
struct cut_off {
  std::string why;
};

} // namespace losses

using loss_cause =
    std::variant<process_end, losses::connection_closed, losses::process_gone,
                 losses::ended_unseen, losses::silent, losses::not_returned,
                 losses::joined_anew, losses::evicted, losses::starved,
                 losses::dismissed, losses::cut_off>;

/// "killed by signal 9 (Killed)", "no heartbeat for 650 ms", ...
std::string describe(const process_end& how);
std::string describe(const losses::silent& what);
std::string describe(const loss_cause& what);

/// It died by its own fault: a crash, or an error exit. Not so where somebody
/// else ended it (kill -9, a drain, an eviction), and not where nobody can say
/// how it ended, as in a cluster whose nodes are started by hand.
bool own_fault(const loss_cause& what);

} // namespace ballast
