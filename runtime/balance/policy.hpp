/// All thresholds of balancing in one place: when the shard manager acts, and
/// how much it does at once. runtime/balance/balancer.hpp uses them.
#pragma once

#include <cstdint>

namespace ballast::balance {

struct balance_policy {
  bool enabled = true;
  uint64_t global_batch = 1;
  /// Order global: the parts of a step that are shared out by speed; no rows
  /// move, as a step does not depend on who owns them. 0: order local.
  uint32_t leaves = 0;
  /// Budget of label skew, as total variation distance, in [0, 1].
  double skew_tv = 0.1;

  // -- windows of observation
  uint64_t window_ms = 250;
  uint64_t window_steps = 10;

  // -- when to act: start late, stop early
  /// A move must shorten the step by this fraction ...
  double gain_min = 0.05;
  /// ... or by this one while a speed drifts ...
  double gain_min_adrift = 0.03;
  /// ... and a split of the batch, which is free, by this one; but by the
  /// larger one if the gain was below `gain_min` before at the same speeds ...
  double split_gain_min = 0.03;
  double split_gain_min_later = 0.1;
  /// ... and by this many standard errors of the measurement.
  double gain_errors = 5;
  /// Skew must exceed the budget by this factor, and the noise floor (the skew
  /// of a random share) by the other.
  double skew_trigger = 1.25;
  double skew_floors = 2;
  /// No worker's take falls below an equal part divided by this.
  uint64_t least_part = 64;
  /// A change of speed must last this many windows, unless there was none in
  /// the windows before it.
  uint32_t sustained_windows = 3;
  uint32_t quiet_windows = 8;
  /// A chunk stays for this many windows after a move; the same for a split.
  uint32_t dwell_windows = 3;
  /// A class with a single holder waits for this many windows while other moves
  /// are due, which may give it a second holder for free.
  uint32_t coverage_windows = 8;
  /// If a worker is still unmeasured after this many windows, data move as if
  /// all workers were equally fast.
  uint32_t unmeasured_windows = 4;
  /// After more than this many reversals of speed within this many windows,
  /// data wait for 1, 2, 4 ... windows: oscillating speeds are not worth
  /// following.
  uint32_t turns_free = 2;
  uint32_t unrest_windows = 128;
  /// The first rows of a generation move once `gain_min` is this many standard
  /// errors of the speeds, or after this many windows: otherwise they would
  /// move again once more is known.
  double first_errors = 3.3;
  uint32_t first_windows_max = 6;
  /// No plan in this last fraction of an epoch.
  double epoch_end = 0.05;
  /// The rest of the run must win back this many times the cost of a plan.
  double payback = 2;

  /// A search for moves without a result is repeated after 1, 2, 4 ... windows,
  /// up to this many, while the plan is the same.
  uint64_t search_windows_max = 16;
  /// The last epoch may lose this fraction of its time at its end, waiting for
  /// late workers; beyond it, rows move to the others for its rest.
  double lost_part_max = 0.025;
  /// In an earlier epoch, this fraction of the rest of the run, because those
  /// rows move back later.
  double lost_and_back_max = 0.1;
  /// But not in epochs with fewer steps: a plan takes some steps to take
  /// effect, and would be for the next epoch.
  uint64_t epoch_steps_min = 20;

  // -- how much at once
  /// One plan moves about as much as this time can copy.
  uint64_t round_ms = 500;
  uint64_t rate_bytes_per_s = 64'000'000; // initial value
  uint64_t rate_min_bytes_per_s = 1'000'000;
  uint64_t rate_max_bytes_per_s = 1'000'000'000;
  uint64_t rate_more_bytes_per_s = 16'000'000;
  /// Steps may take this many times as long while data move; above it the rate
  /// is halved.
  double inflation_max = 1.03;
  /// Rows are owned before their bytes are there if the steps need at most this
  /// part of the rate at which rows came lately.
  double ahead_part = 0.5;
  /// Chunks within this fraction of their owner's quota stay.
  double size_tolerance = 0.02;

  /// One search may examine this many label entries, each about a nanosecond;
  /// then it returns the best plan so far.
  uint64_t search_effort = 400'000'000;

  // -- when plans fail
  uint32_t failures_max = 3; // then it is `stalled`, and waits
  uint32_t stalled_windows = 40;
};

} // namespace ballast::balance
