/// Where a ledger may start: checks of what a peer or a file says.
#include "runtime/base/random.hpp"
#include "runtime/ledger/keyed_permutation.hpp"
#include "runtime/ledger/leaves.hpp"
#include "runtime/ledger/ledger.hpp"
#include "runtime/ledger/position_rules.hpp"
#include "runtime/ledger/step_takes.hpp"

#include <bit>
#include <numeric>

namespace ballast::ledger {

uint64_t row_count(const ledger_config& config) {
  return std::accumulate(config.chunk_rows.begin(), config.chunk_rows.end(),
                         uint64_t{0});
}

uint64_t position_digest(const ledger_config& config, epoch_number epoch,
                         uint64_t step_of_epoch) {
  const uint64_t order =
      mix(mix(config.seed, config.global_batch),
          uint64_t{config.leaves} << 32 | config.window_chunks);
  return mix(cursor_digest(epoch, step_of_epoch, {}), order);
}

namespace {

std::optional<std::string> cut_error(const ledger_config& config,
                                     uint64_t rows_total) {
  if (config.leaves > leaves_max || !std::has_single_bit(config.leaves))
    return "a step is cut into " + std::to_string(config.leaves) +
           " leaves; expected a power of two up to " +
           std::to_string(leaves_max);
  if (rows_total > keyed_permutation::size_max)
    return "the training set has " + std::to_string(rows_total) +
           " rows; one order of all has at most " +
           std::to_string(keyed_permutation::size_max);
  return std::nullopt;
}

/// Of order local: the cursors of one share, whose sum is added to `consumed`.
std::optional<std::string> share_error(const share& part,
                                       const worker_cursor& cursor,
                                       uint64_t& consumed) {
  const std::vector<uint32_t>& own = cursor.cursors;
  const std::string who = "worker " + to_string(part.worker);
  if (own.size() != part.intervals.size())
    return who + ": " + std::to_string(own.size()) + " cursors for " +
           std::to_string(part.intervals.size()) + " intervals";
  uint64_t own_sum = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i] > rows(part.intervals[i]))
      return who + ": cursor " + std::to_string(own[i]) + " of interval " +
             std::to_string(i) + " is past its end";
    own_sum += own[i];
  }
  if (cursor.draws > own_sum)
    return who + ": " + std::to_string(cursor.draws) + " draws, but only " +
           std::to_string(own_sum) + " rows consumed";
  consumed += own_sum;
  return std::nullopt;
}

/// Of order global.
std::optional<std::string> position_error(const ledger_config& config,
                                          position at, uint64_t step_of_epoch,
                                          const worker_cursor& cursor) {
  const std::string who = "worker " + to_string(cursor.worker);
  if (!cursor.cursors.empty() || cursor.draws > 0)
    return who + " has cursors of its own: they are of order local, expected "
                 "order global";
  if (cursor.digest != position_digest(config, at.epoch, step_of_epoch))
    return who + " is not before step " + to_string(at.step) +
           " of the same order: another step, seed, batch, window or number of "
           "leaves";
  return std::nullopt;
}

} // namespace

std::optional<std::string>
start_error(const ledger_config& config, const plan& first, position at,
            const std::vector<worker_cursor>& cursors) {
  if (config.global_batch == 0)
    return "the global batch is 0";
  uint64_t rows_total = row_count(config);
  if (rows_total == 0)
    return "the training set has no rows";
  const bool global = config.leaves > 0;
  if (auto error = global ? cut_error(config, rows_total) : std::nullopt)
    return error;
  if (auto error = partition_error(first, config.chunk_rows))
    return error;
  if (auto error = kept_error(first, config.leaves))
    return error;
  uint64_t steps = steps_for(rows_total, config.global_batch);
  if (value(at.step) == 0 || value(at.epoch) == 0 ||
      (value(at.step) - 1) / steps + 1 != value(at.epoch))
    return "step " + to_string(at.step) + " is not in epoch " +
           to_string(at.epoch) + ", which has " + std::to_string(steps) +
           " steps";
  const uint64_t step_of_epoch = (value(at.step) - 1) % steps;
  if (!cursors.empty() && cursors.size() != first.shares.size())
    return std::to_string(cursors.size()) + " cursors for " +
           std::to_string(first.shares.size()) + " workers";
  uint64_t consumed = 0;
  for (size_t rank = 0; rank < cursors.size(); ++rank) {
    const share& part = first.shares[rank];
    if (cursors[rank].worker != part.worker)
      return "worker " + to_string(part.worker) +
             ": the cursors are those of worker " +
             to_string(cursors[rank].worker);
    if (auto error =
            global ? position_error(config, at, step_of_epoch, cursors[rank])
                   : share_error(part, cursors[rank], consumed))
      return error;
  }
  const uint64_t expected =
      consumed_after(step_of_epoch, config.global_batch, rows_total);
  if (!global && consumed != expected)
    return "the cursors say that " + std::to_string(consumed) +
           " rows are consumed before step " + to_string(at.step) +
           ", but the steps of the epoch consumed " + std::to_string(expected);
  return std::nullopt;
}

} // namespace ballast::ledger
