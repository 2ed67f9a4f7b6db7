#include "collectives/host_map.hpp"

#include <map>

namespace ballast::collectives {

host_map map_hosts(const std::vector<std::string>& host_ids, int rank,
                   size_t local_max) {
  std::map<std::string, size_t> ranks_on;
  for (const std::string& id : host_ids) {
    ++ranks_on[id];
  }
  host_map out;
  std::map<std::string, int> known; // host id -> position
  for (size_t r = 0; r < host_ids.size(); ++r) {
    const std::string& id = host_ids[r];
    const bool shares = !id.empty() && ranks_on[id] <= local_max;
    const int next = static_cast<int>(out.leaders.size());
    const int host = shares ? known.try_emplace(id, next).first->second : next;
    if (host == next) {
      out.leaders.push_back(static_cast<int>(r));
    }
    out.host_of.push_back(host);
  }
  for (size_t r = 0; r < host_ids.size(); ++r) {
    if (out.host_of[r] == out.host_of[static_cast<size_t>(rank)]) {
      out.local.push_back(static_cast<int>(r));
    }
  }
  return out;
}

} // namespace ballast::collectives
