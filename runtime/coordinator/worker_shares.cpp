#include "runtime/coordinator/worker_shares.hpp"

#include "runtime/ledger/step_takes.hpp"

#include <algorithm>
#include <numeric>

namespace ballast::coordinator {

std::vector<worker_share>
worker_shares(const std::vector<std::string>& names,
              const ledger::plan& current,
              const std::vector<share_summary>& shares, uint64_t global_batch,
              uint32_t leaves) {
  const std::vector<uint64_t> parts = batch_parts(current, leaves);
  const uint64_t all = std::accumulate(parts.begin(), parts.end(), uint64_t{0});
  std::vector<worker_share> out;
  for (size_t rank = 0; rank < shares.size() && rank < names.size(); ++rank)
    out.push_back({names[rank], shares[rank].skew_tv, shares[rank].rows_owned,
                   double(parts.at(rank)) * double(global_batch) /
                       double(std::max<uint64_t>(1, all))});
  return out;
}

} // namespace ballast::coordinator
