/// How the workers of one host share what it has: its memory, its cores.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/coordinator/node.hpp"
#include "runtime/messages/messages.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace ballast::coordinator {

class host_shares {
public:
  /// `workers` of the next generation. `local_least`: so many will be on each
  /// host soon, if not now.
  host_shares(const std::map<worker_id, node>& nodes,
              const std::map<std::string, uint64_t>& memory,
              const std::vector<worker_id>& workers, uint32_t local_least);

  /// How many of the workers are on that host.
  uint32_t workers_on(const std::string& host) const;
  /// Bytes of chunks that one worker there may hold, at most `of_job`; 0 = not
  /// known, no limit.
  uint64_t store_limit(const std::string& host, uint64_t of_job) const;

private:
  struct entry {
    uint32_t workers = 0;   // of the generation
    uint32_t connected = 0; // nodes
    uint64_t memory = 0;    // bytes; 0 = not known
  };
  std::map<std::string, entry> hosts_;
  uint32_t local_least_;
};

/// No worker has room for some chunks: nothing is tried again before another
/// node is here, or leaves, or is asked to.
struct memory_wait {
  memory_need lacks;
  std::set<worker_id> here;
  std::set<worker_id> leaving;
};

/// Limits by rank; empty where no worker has one.
std::vector<uint64_t> store_limits(const std::map<worker_id, node>& nodes,
                                   const host_shares& hosts, uint64_t of_job,
                                   const std::vector<worker_id>& workers);

} // namespace ballast::coordinator
