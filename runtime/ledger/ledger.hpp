/// The ledger: which worker consumed, consumes and will consume which rows. No
/// process logs samples: the plans with the positions at which they took
/// effect, and the number of committed steps, determine every draw of every
/// worker.
///
/// Order local: a plan says whose rows they are, and each worker draws from its
/// own. Invariant at every position: the unconsumed rows of the plan's owners
/// are exactly the rows that the epoch has left. Order global: all rows of the
/// epoch have one order, step t has the positions [t B, (t + 1) B) of it, and a
/// plan says who takes which leaves of a step; the rows that it assigns are
/// only held. So the number of committed steps is all there is to know.
///
/// Pure and deterministic; every worker, the coordinator and `ballast audit`
/// run the same code.
#pragma once

#include "runtime/base/ids.hpp"
#include "runtime/base/shared_list.hpp"
#include "runtime/ledger/leaves.hpp"
#include "runtime/ledger/plan.hpp"
#include "runtime/ledger/row_order.hpp"
#include "runtime/ledger/sequence.hpp"
#include "runtime/ledger/take.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ballast::ledger {

/// A position in the run: the next step, and its epoch.
struct position {
  epoch_number epoch{1};
  step_number step{1};
  friend auto operator<=>(const position&, const position&) = default;
};

/// The position of one worker in its epoch. Of order global it has no draws and
/// no cursors of its own; the digest is that of the epoch's position.
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
  shared_list<uint32_t> chunk_rows; // by chunk id; of epoch_uses the uses
  uint32_t window_chunks = 0;       // sequence.hpp; 0 = none
  /// Order global: the parts into which each step is cut (leaves.hpp), a power
  /// of two. 0: order local, each worker draws from its own rows.
  uint32_t leaves = 0;
  /// Which rows these uses are; null: each row once. Only who asks for rows
  /// needs it.
  std::shared_ptr<const epoch_uses> uses = nullptr;
};
/// Rows of the training set, or uses, in an epoch.
uint64_t row_count(const ledger_config& config);

/// Why no ledger can start there, or nothing: `first` is no partition, `at`
/// names the wrong epoch, cursors do not fit the shares, or they do not add up
/// to the rows that the steps of the epoch before `at` consumed. Validates
/// input from a peer or a file before a ledger is constructed from it. Of order
/// global: they are of another position, seed, window or number of leaves, or
/// the plan does not keep each leaf once.
std::optional<std::string>
start_error(const ledger_config& config, const plan& first, position at,
            const std::vector<worker_cursor>& cursors);

/// A value, cheap to copy (a few words for each rank): copy it to look ahead,
/// keep a copy to go back. One thread at a time, also for const calls, because
/// they cache their results.
class ledger {
public:
  /// Starts at `at` under `first` with the given cursors by rank (empty = all
  /// zero, the beginning of an epoch). Precondition: start_error returns
  /// nothing.
  ledger(ledger_config config, plan first, position at = {},
         std::vector<worker_cursor> cursors = {});

  /// The next step and its epoch.
  position next() const;
  const plan& current() const;
  /// take_w of the next step, by rank. Their sum is min(B, rows left), never 0.
  const std::vector<uint64_t>& takes() const;
  /// Those rows of a rank: for its row_order.
  std::vector<step_part> parts_of(size_t rank) const;
  /// Order global: the leaves of each rank in the next step; else none.
  const std::vector<leaf_ranges>& leaves() const;
  /// Of the rows that the epoch has left, those of this rank's share; of order
  /// global those of its leaves.
  uint64_t rows_left(size_t rank) const;
  /// True if the next step is the last of its epoch.
  bool last_of_epoch() const;
  /// ceil(N / B), for every epoch, whatever happens to the membership.
  uint64_t steps_per_epoch() const;

  /// Completes the next step: cursors advance. After the last step of an epoch
  /// the next epoch begins with cursors 0 and the same owners.
  void advance();

  /// `p` takes effect at next(). The cursor of each interval of `p` is
  /// clamp(old absolute cursor - begin, 0, length). Returns the reason and
  /// changes nothing if `p` is no partition, not newer, or breaks the
  /// invariant. Of order global any partition will do that keeps all leaves.
  std::optional<std::string> switch_to(const plan& p);

  /// The position of `rank`, computed by following its draws.
  worker_cursor cursor_of(size_t rank) const;
  /// The rows of `rank` from next() on, in this epoch and as long as the rank
  /// keeps its share.
  row_order order_of(size_t rank) const;
  /// Order local: a sequence for `rank`, positioned at next().
  sequence sequence_of(size_t rank) const;
  /// The chunks of `rank` in the order in which a window of that epoch takes
  /// them in; without a window nothing.
  std::vector<chunk_id> turns_of(size_t rank, epoch_number epoch) const;
  /// Computes now what a change of all owners at next() asks for: then
  /// switch_to, and cursor_of of the plan before, find it made. Of a rank that
  /// was followed up to `behind_max` draws ago the rest is left to them.
  void prepare_switch(uint64_t behind_max = 0) const;

private:
  /// The constants of the plan in force; shared between copies.
  struct rules;
  struct consumed_interval;
  struct handed_out;
  struct chunk_list;
  void retake();
  bool is_global() const;
  uint64_t step_begin() const;
  static std::shared_ptr<const rules>
  rules_of(std::shared_ptr<const ledger_config> config, plan in_force,
           uint64_t rows_total);
  static std::optional<uint32_t> cursor_in(const interval& piece,
                                           const handed_out& old);
  handed_out hand_out(std::map<worker_id, size_t>& kept) const;
  const chunk_list& by_chunk() const;
  const sequence& followed(size_t rank) const;
  /// Where the draws of a rank begin that this ledger follows.
  struct beginning {
    uint64_t draws = 0; // made before, of the share in this epoch
    /// Null: all are 0, as at the start of an epoch.
    std::shared_ptr<const std::vector<uint32_t>> cursors;
  };
  /// Consumed rows of each interval of a share, without following its draws if
  /// there were none; null: none.
  const std::vector<uint32_t>* cursors_at(size_t rank) const;

  std::shared_ptr<const rules> rules_;
  position next_;
  uint64_t step_of_epoch_ = 0;      // steps of this epoch before next()
  std::vector<uint64_t> rows_left_; // by rank
  uint64_t rows_left_sum_ = 0;
  std::vector<uint64_t> takes_; // by rank
  /// Draws of each rank's share in this epoch before next().
  std::vector<uint64_t> draws_;
  std::vector<beginning> beginnings_; // by rank
  /// Each rank's sequence at some draw not after draws_; null = at its
  /// beginning, not needed yet: a worker follows its own draws alone. Replaced,
  /// never changed in place, so that copies may share it.
  mutable std::vector<std::shared_ptr<const sequence>> followed_;
  /// Order global: of this epoch; null = not needed yet.
  mutable std::shared_ptr<const global_order> order_;
  /// The intervals of the plan in force by chunk; null = not needed yet.
  mutable std::shared_ptr<const chunk_list> by_chunk_;
};

} // namespace ballast::ledger
