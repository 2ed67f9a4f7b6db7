/// The backend "ring": our own abortable collectives between processes.
///
/// Ranks of one host add from each other's shared memory, hosts communicate
/// over TCP; with several ranks on several hosts the sum goes host by host.
/// Variants for measurements and tests: "ring-tcp" never shares memory,
/// "ring-shm" refuses to join a rank of another host.
///
/// Every rank sees the death of another one within milliseconds, in whatever
/// operation it is; abort() frees all of them the same way. A collective that
/// failed never touches a peer's memory or the caller's buffers again.
#pragma once

#include "collectives/collective.hpp"
#include "collectives/cost_model.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace ballast::collectives {

struct ring_config {
  bool share_memory = true; // with ranks of this host
  bool cross_hosts = true;  // TCP to ranks of other hosts
  /// Ranks with equal ids share memory. Empty: determined from the kernel.
  std::string host_id = {};
  /// A host that answers nothing for this long counts as dead.
  std::chrono::milliseconds link_timeout{5000};
  /// Equal on every rank; measured if absent.
  std::optional<cost_model> costs = {};
};

std::unique_ptr<collective_backend> make_ring_backend(const std::string& name,
                                                      ring_config config);

} // namespace ballast::collectives
