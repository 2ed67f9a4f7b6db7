/// Builds the mesh of one generation: the higher rank of every pair connects to
/// the lower one's listener, all in parallel, each with a full handshake.
#pragma once

#include "collectives/listener.hpp"
#include "collectives/stop_switch.hpp"
#include "collectives/stream_mesh.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace ballast::collectives {

/// Where a rank listens, and whether it shares a host.
struct peer_address {
  std::string host;
  uint16_t port = 0;
  std::string local_name;
  bool same_host = false; // and both sides allow shared memory
};

/// The links for which a rank waits in vain; other threads read it meanwhile.
class silent_links {
public:
  void set(std::vector<dead_link> now) {
    std::lock_guard lock(mutex_);
    now_ = std::move(now);
  }
  std::vector<dead_link> get() const {
    std::lock_guard lock(mutex_);
    return now_;
  }

private:
  mutable std::mutex mutex_;
  std::vector<dead_link> now_;
};

/// Links by rank, empty for this one. Blocks until all are authenticated or
/// `until`; collective_error{peer_lost|mismatch|timeout|aborted} names the
/// rank.
std::vector<stream_mesh::link>
join_mesh(const std::vector<peer_address>& peers,
          const std::shared_ptr<link_inbox>& inbox, stop_switch& stop,
          int link_timeout_ms, deadline until, silent_links* silent = nullptr);

} // namespace ballast::collectives
