/// Turns what the ranks compute for a step into its sum over all rows: the
/// gradient of a rank's own rows, and the exchange with the others, part of it
/// while the gradient is computed.
///
///   fused       one pass over a worker's rows; each bucket is summed as fast
///               as the backend can, in its order
///   canonical   leaf by leaf, in one order for every number of workers
///
/// Threads: the step thread; interrupt() and resume() from any.
#pragma once

#include "collectives/collective.hpp"
#include "gpu/batch_view.hpp"
#include "gpu/model.hpp"
#include "runtime/ledger/leaves.hpp"
#include "runtime/ledger/ledger.hpp"
#include "runtime/ledger/spot_checks.hpp"
#include "runtime/messages/bit_reports.hpp"
#include "runtime/worker/trailer.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

namespace ballast::gpu {

/// The part of one rank in one step.
struct step_work {
  ledger::position at;
  uint64_t samples = 0; // of all ranks
  batch_view rows;      // own, in the order of the step
  uint64_t seed = 0;    // of the job
  uint32_t rank = 0;
  /// Of order global, by rank: the leaves that each computes. Else empty.
  std::span<const ledger::leaf_ranges> leaves = {};
  float* gradients = nullptr; // arena: for the sum over all ranks
  collectives::collective* group = nullptr;
  ballast::generation generation{}; // of `group`
  /// Of order global: the leaves that are computed twice, the rows of that
  /// which this rank computes again, and those of any leaf, fetched now.
  std::span<const ledger::spot_check> checks = {};
  batch_view checked = {};
  std::function<batch_view(uint32_t leaf)> leaf_rows = {};
  /// Nothing may be left out of the sum, nor of those before (compressed_sum).
  bool nothing_left_out = false;
};

/// Thrown on every rank where a leaf was computed twice to other bits: nobody
/// may apply the step.
class contradiction : public std::runtime_error {
public:
  explicit contradiction(std::vector<contradicted_leaf> found)
      : std::runtime_error("leaves were computed twice to other bits"),
        leaves(std::move(found)) {}
  std::vector<contradicted_leaf> leaves;
};

class reduction {
public:
  virtual ~reduction() = default;

  /// Computes the gradient of the rank's rows; what is final leaves for the
  /// others meanwhile. The sum of the rows' losses. Throws
  /// ballast_error{device_failed} if a single row does not fit.
  virtual double contribute(const step_work& of) = 0;
  /// Some of what contribute() will compute, until there is nothing left or
  /// stop_ahead(); there is no group yet. The method need not do any.
  virtual void compute_ahead(const step_work& /*of*/) {}
  virtual void stop_ahead() noexcept {} // any thread
  /// Returns when gradients, `statistics` and `sums` are those of all ranks;
  /// throws collective_error, contradiction.
  virtual void finish(worker::trailer& sums, std::span<float> statistics) = 0;
  /// The step's sum, as finish() left it or as another rank sent it, is in the
  /// parameters now.
  virtual void applied(ledger::position /*of*/, double /*samples*/) {}
  /// Abandons the step; the caller has aborted the collective.
  virtual void drop() noexcept = 0;
  /// Of the rank's rows in the last step: those that an attempt at it that was
  /// abandoned had computed already.
  virtual uint64_t rows_kept() const { return 0; }

  /// Writes the scores of rows (batch_view), by forward passes only.
  virtual void score(const batch_view& rows, float* gradients,
                     std::span<float> scores) = 0;
  /// Of some rows of the test part, by the parameters as they are.
  virtual evaluation_sums evaluate(const batch_view& rows,
                                   float* gradients) = 0;
  /// The most rows of a micro-batch from now on, if that is less than at the
  /// last call.
  virtual std::optional<uint32_t> take_shrunk() { return std::nullopt; }

  /// As of a model.
  virtual void interrupt() noexcept = 0;
  virtual void resume() noexcept = 0;
};

/// Waiting for a living peer is no error, however slow it is: heartbeats detect
/// its death. This only bounds a hang that nothing else would notice.
inline collectives::deadline patience() {
  return std::chrono::steady_clock::now() + std::chrono::hours(1);
}

} // namespace ballast::gpu
