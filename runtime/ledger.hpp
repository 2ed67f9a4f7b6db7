/// The ledger: which rows were, are and will be consumed by whom. Nothing is
/// logged per sample: plans with the position where each took effect, and the
/// number of committed steps, determine every draw of every worker.
///
/// Invariant, at every position: what the plan's owners have not consumed is
/// exactly what the epoch has left. Pure and deterministic; every worker, the
/// coordinator and `ballast audit` run the same code.
#pragma once

#include "runtime/ids.hpp"
#include "runtime/plan.hpp"
#include "runtime/sequence.hpp"
#include "runtime/take.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ballast {

/// A place in the run: the next step to do, and the epoch it belongs to.
struct position {
  epoch_number epoch{1};
  step_number step{1};
  friend auto operator<=>(const position&, const position&) = default;
};

/// Where one worker stands in its epoch.
struct worker_cursor {
  worker_id worker{};
  uint64_t draws = 0; // of its share, in this epoch
  std::vector<uint32_t> cursors;
  uint64_t digest = 0;
  friend bool operator==(const worker_cursor&, const worker_cursor&) = default;
};

struct ledger_config {
  uint64_t seed = 0;
  uint64_t global_batch = 1;
  std::vector<uint32_t> chunk_rows; // by chunk id
};

class ledger {
public:
  /// Starts at `at` under `first` with the given cursors per rank (empty = all
  /// zero, the beginning of an epoch).
  ledger(ledger_config config, plan first, position at = {},
         std::vector<worker_cursor> cursors = {});

  /// The next step and its epoch.
  position next() const;
  const plan& current() const;
  /// take_w of the next step, by rank. Sums to min(B, rows left), never 0.
  const std::vector<uint64_t>& takes() const;
  uint64_t rows_left(size_t rank) const;
  /// True if the next step is the last of its epoch.
  bool last_of_epoch() const;
  /// ceil(N / B), for every epoch, whatever happens to the membership.
  uint64_t steps_per_epoch() const;

  /// The next step is done: cursors move on; after an epoch's last step the
  /// next epoch begins with cursors 0 and the same owners.
  void advance();

  /// `p` takes effect at next(). Cursor of each interval of `p` = clamp(old
  /// absolute cursor - begin, 0, length). Returns why not, and changes nothing,
  /// if `p` is no partition, not newer, or breaks the invariant.
  std::optional<std::string> switch_to(const plan& p);

  /// Where `rank` stands, computed by following its draws.
  worker_cursor cursor_of(size_t rank) const;
  /// A sequence for `rank` that stands at next().
  sequence sequence_of(size_t rank) const;

  // private members: see the .cpp's author
};

} // namespace ballast
