/// Which ranks share a host; every rank computes the same map from the
/// addresses of all. Pure.
#pragma once

#include <string>
#include <vector>

namespace ballast::collectives {

struct host_map {
  /// Ranks that share memory with this one, ascending, including itself.
  std::vector<int> local;
  /// The lowest rank of every host, ascending.
  std::vector<int> leaders;
  /// Position in `leaders` of each rank's host.
  std::vector<int> host_of;
};

/// `host_ids` by rank; a rank with an empty id shares with no other. A host
/// with more than `local_max` ranks shares nothing: its ranks count as hosts of
/// their own.
host_map map_hosts(const std::vector<std::string>& host_ids, int rank,
                   size_t local_max);

} // namespace ballast::collectives
