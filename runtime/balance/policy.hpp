/// When the shard manager acts, and how much it does at once. Every threshold
/// of the balance in one place; runtime/balance/balancer.hpp uses them.
#pragma once

#include <cstdint>

namespace ballast {

struct balance_policy {
  bool enabled = true;
  uint64_t global_batch = 1;
  /// Budget of label skew, as total variation distance, in [0, 1].
  double skew_tv = 0.1;

  // -- windows of observation
  uint64_t window_ms = 250;
  uint64_t window_steps = 10;

  // -- when to act: start late, stop early
  /// A move must shorten the step by this part ...
  double gain_min = 0.05;
  /// ... or by this one where a speed goes on changing little by little ...
  double gain_min_adrift = 0.03;
  /// ... a split of the batch, which costs nothing, by this one; or by the
  /// other, where less than `gain_min` was seen before, at speeds that have not
  /// changed since ...
  double split_gain_min = 0.03;
  double split_gain_min_later = 0.1;
  /// ... and by so many standard errors of what was measured.
  double gain_errors = 5;
  /// Skew must exceed the budget by this factor, and the noise floor (what a
  /// random share has) by the other.
  double skew_trigger = 1.25;
  double skew_floors = 2;
  /// Nobody's take falls below an equal one divided by this.
  uint64_t least_part = 64;
  /// A change of speed must last so many windows, unless there was none in the
  /// windows before it.
  uint32_t sustained_windows = 3;
  uint32_t quiet_windows = 8;
  /// A chunk that moved stays for so many windows; likewise a split.
  uint32_t dwell_windows = 3;
  /// A class that one worker alone holds waits for so many windows while other
  /// moves are due, which may give it a second holder for nothing.
  uint32_t coverage_windows = 8;
  /// Where not every worker is measured after so many windows, data move as if
  /// all were equally fast.
  uint32_t unmeasured_windows = 4;
  /// After more than so many changes of speed within so many windows which led
  /// back, data wait for 1, 2, 4 ... windows: speeds that come and go are not
  /// worth following.
  uint32_t turns_free = 2;
  uint32_t unrest_windows = 128;
  /// The first rows of a generation move once `gain_min` is so many standard
  /// errors of the speeds, or after so many windows: else they would move again
  /// when more is known.
  double first_errors = 3.3;
  uint32_t first_windows_max = 6;
  /// No plan in this last part of an epoch.
  double epoch_end = 0.05;
  /// What is left of the run must win back this many times what a plan costs.
  double payback = 2;

  /// Moves that led to nothing are looked for again after 1, 2, 4 ... windows,
  /// up to so many, while the plan is the same.
  uint64_t search_windows_max = 16;
  /// The last epoch may lose this part of its time at its end, waiting for who
  /// is late; else some rows more go to the others for the rest of it.
  double lost_part_max = 0.025;
  /// In an epoch before it: this part of the rest of the run, since those rows
  /// come back later.
  double lost_and_back_max = 0.1;
  /// But not where an epoch has fewer steps than that: a plan takes some of
  /// them to come into force, and would be for the next epoch.
  uint64_t epoch_steps_min = 20;

  // -- how much at once
  /// One plan moves what takes about so long to copy.
  uint64_t round_ms = 500;
  uint64_t rate_bytes_per_s = 64'000'000; // to begin with
  uint64_t rate_min_bytes_per_s = 1'000'000;
  uint64_t rate_max_bytes_per_s = 1'000'000'000;
  uint64_t rate_more_bytes_per_s = 16'000'000;
  /// Steps may take this many times as long while data move; else the rate is
  /// halved.
  double inflation_max = 1.03;
  /// Chunks closer to their owner's quota than this stay.
  double size_tolerance = 0.02;

  // -- when plans fail
  uint32_t failures_max = 3; // then the state is `stalled`, and it waits
  uint32_t stalled_windows = 40;
};

} // namespace ballast
