/// How fast rows are copied: the rate that copies may use, raised a little
/// after each transfer and halved if steps took longer meanwhile (additive
/// increase, multiplicative decrease), the measured rates of the links, and
/// those at which rows come that a worker's steps or loaders read themselves.
/// Pure; one per balancer.
#pragma once

#include "runtime/balance/load.hpp"
#include "runtime/balance/measured_rates.hpp"
#include "runtime/balance/policy.hpp"
#include "runtime/balance/shard_moves.hpp"
#include "runtime/base/ids.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace ballast::balance {

/// Rows come in few large reads where the way is fast.
constexpr uint64_t read_bytes_enough = uint64_t{8} << 20;

class copy_rate {
public:
  explicit copy_rate(uint64_t bytes_per_s) : bytes_per_s_(bytes_per_s) {}

  /// Steps and copies since the last view.
  void add(const load_view& view);
  /// A transfer ended; `copied`: it was of rows.
  void end_transfer(bool copied, const balance_policy& policy);
  /// Another split has other step times; forgets links of other workers.
  void new_plan(const std::vector<worker_id>& ranks);

  uint64_t bytes_per_s() const { return bytes_per_s_; }
  const measured_rates& links() const { return links_; }
  /// Rows that were not in its memory; nothing: that was not measured.
  std::optional<double> reads_of(worker_id who) const {
    return reads_.into(who);
  }
  /// How long these moves take, at the allowed rate and over these links.
  double seconds(const std::vector<shard_move>& moves,
                 const std::vector<worker_id>& ranks) const;

private:
  uint64_t bytes_per_s_;
  measured_rates links_;
  measured_rates reads_{read_bytes_enough}; // from wherever they were
  std::vector<uint64_t> calm_us_;           // newest steps without a transfer
  std::vector<uint64_t> moving_us_;         // steps during this transfer
};

} // namespace ballast::balance
