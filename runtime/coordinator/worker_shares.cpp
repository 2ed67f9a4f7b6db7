#include "runtime/coordinator/worker_shares.hpp"

#include <algorithm>

namespace ballast::coordinator {

std::vector<worker_share>
worker_shares(const std::vector<std::string>& names,
              const ledger::plan& current,
              const std::vector<share_summary>& shares, uint64_t global_batch) {
  uint64_t weights = 0;
  for (const ledger::share& one : current.shares)
    weights += one.batch_weight;
  std::vector<worker_share> out;
  for (size_t rank = 0; rank < shares.size() && rank < names.size(); ++rank)
    out.push_back(
        {names[rank], shares[rank].skew_tv, shares[rank].rows_owned,
         double(current.shares[rank].batch_weight) * double(global_batch) /
             double(std::max<uint64_t>(1, weights))});
  return out;
}

} // namespace ballast::coordinator
