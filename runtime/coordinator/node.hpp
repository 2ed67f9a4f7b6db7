/// What the coordinator knows of a node, and of one that is gone. Plain data.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/coordinator/failure_detector.hpp"
#include "runtime/ledger/sequence.hpp"
#include "runtime/messages/loss_cause.hpp"
#include "runtime/messages/node_reports.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ballast::coordinator {

/// A node that said hello; keeps its worker_id until it is lost.
struct node {
  worker_id id{};
  uint32_t incarnation = 0;
  worker_hello about;
  bool connected = true;
  bool left = false; // in good order
  /// It was dismissed for a broken link: it does not train before.
  std::optional<instant> held_back_until = {};
  instant last_word{}; // once it is gone
  heartbeat last;
};

/// "worker w2 (pid 4711 on host)".
std::string describe_node(const node& who);

/// A worker that is gone, and why: a better reason may still come.
struct departure {
  loss_cause cause;
  instant since{};
  bool unsent = false; // it had left something out of compressed gradients
};

/// A worker that died in the midst of a step. What it was at is known once the
/// fence is over, how it died once its end is explained; whichever comes first.
struct step_death {
  std::optional<std::vector<ledger::row_ref>> rows;
  std::optional<loss_cause> how = {}; // by its own fault; none: not known yet
  bool nobody_survived = false;       // so nobody knows what it was at
};

} // namespace ballast::coordinator
