#include "runtime/coordinator/memory_limits.hpp"

#include <algorithm>

namespace ballast::coordinator {

host_shares::host_shares(const std::map<worker_id, node>& nodes,
                         const std::map<std::string, uint64_t>& memory,
                         const std::vector<worker_id>& workers,
                         uint32_t local_least)
    : local_least_(local_least) {
  for (worker_id who : workers)
    ++hosts_[nodes.at(who).about.host].workers;
  for (const auto& [id, who] : nodes)
    if (who.connected)
      ++hosts_[who.about.host].connected;
  for (auto& [host, one] : hosts_)
    if (auto found = memory.find(host); found != memory.end())
      one.memory = found->second;
}

uint32_t host_shares::workers_on(const std::string& host) const {
  auto found = hosts_.find(host);
  return found == hosts_.end() ? 0 : found->second.workers;
}

uint64_t host_shares::store_limit(const std::string& host,
                                  uint64_t of_job) const {
  auto found = hosts_.find(host);
  if (found == hosts_.end() || found->second.memory == 0)
    return of_job;
  const entry& one = found->second;
  // The rest is for models, gradients and messages.
  const uint64_t of_host =
      one.memory / 5 * 4 /
      std::max({one.workers, one.connected, local_least_, 1u});
  return of_job > 0 ? std::min(of_job, of_host) : of_host;
}

std::vector<uint64_t> store_limits(const std::map<worker_id, node>& nodes,
                                   const host_shares& hosts, uint64_t of_job,
                                   const std::vector<worker_id>& workers) {
  std::vector<uint64_t> out;
  bool limited = false;
  for (worker_id who : workers) {
    const uint64_t limit = hosts.store_limit(nodes.at(who).about.host, of_job);
    out.push_back(limit > 0 ? limit : UINT64_MAX);
    limited = limited || limit > 0;
  }
  return limited ? out : std::vector<uint64_t>{};
}

} // namespace ballast::coordinator
