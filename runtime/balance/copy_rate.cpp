#include "runtime/balance/copy_rate.hpp"

#include "runtime/balance/median.hpp"

#include <algorithm>
#include <cstddef>
#include <set>

namespace ballast::balance {

namespace {

constexpr size_t calm_steps_max = 64;
/// Least number of steps with and without a transfer that are compared.
constexpr size_t compared_steps_min = 8;

} // namespace

void copy_rate::add(const load_view& view) {
  for (const link_copy& one : view.copies)
    links_.add(one);
  for (const worker_load& worker : view.workers)
    for (const rows_read& one : worker.reads)
      reads_.add({{}, worker.worker, one.bytes, one.ns});
  std::vector<uint64_t>& steps = view.transfer ? moving_us_ : calm_us_;
  steps.insert(steps.end(), view.step_us.begin(), view.step_us.end());
  if (steps.size() > calm_steps_max)
    steps.erase(steps.begin(), steps.end() - ptrdiff_t(calm_steps_max));
}

void copy_rate::end_transfer(bool copied, const balance_policy& policy) {
  bool comparable = calm_us_.size() >= compared_steps_min &&
                    moving_us_.size() >= compared_steps_min;
  if (comparable && double(median(moving_us_)) >
                        policy.inflation_max * double(median(calm_us_)))
    bytes_per_s_ = std::max(policy.rate_min_bytes_per_s, bytes_per_s_ / 2);
  else if (copied)
    bytes_per_s_ = std::min(policy.rate_max_bytes_per_s,
                            bytes_per_s_ + policy.rate_more_bytes_per_s);
  moving_us_.clear();
}

void copy_rate::new_plan(const std::vector<worker_id>& ranks) {
  calm_us_.clear();
  links_.keep({ranks.begin(), ranks.end()});
  reads_.keep({ranks.begin(), ranks.end()});
}

double copy_rate::seconds(const std::vector<shard_move>& moves,
                          const std::vector<worker_id>& ranks) const {
  double bytes = 0;
  for (const shard_move& one : moves)
    bytes += double(one.bytes);
  return std::max(bytes / double(bytes_per_s_), travel_s(moves, ranks, links_));
}

} // namespace ballast::balance
