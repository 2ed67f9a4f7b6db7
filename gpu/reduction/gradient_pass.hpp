/// The gradient sum of a worker's own rows of a step, in micro-batches until
/// one does not fit. Its buckets leave for the all-reduce as they become final.
///
/// Thread: the step thread. Model, device and arenas outlive it.
#pragma once

#include "collectives/collective.hpp"
#include "gpu/device.hpp"
#include "gpu/model.hpp"
#include "gpu/reduction/bucket_reducer.hpp"
#include "gpu/training_state.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"
#include "runtime/worker/micro_batch.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace ballast::gpu {

class gradient_pass {
public:
  /// `sum`: as of bucket_reducer.
  gradient_pass(const train_spec& how, const ledger::row_shape& row, model& of,
                compute_device& device, const arenas& memory,
                bucket_layout layout, bucket_sum* sum = nullptr);

  /// The sum of the rows' losses. `gradients`: the arena of this step; `group`
  /// reduces it, every operation by `until`. Throws
  /// ballast_error{device_failed} if a single row does not fit.
  double run(const batch_view& rows, uint64_t seed, float* gradients,
             collectives::collective& group, collectives::deadline until);
  /// Writes the scores of the rows (batch_view), by forward passes only.
  /// `gradients` stay as they are. Throws as run() does.
  void score(batch_view rows, float* gradients, std::span<float> scores);
  /// The most rows of a micro-batch from now on, if that is less than at the
  /// last call.
  std::optional<uint32_t> take_shrunk() { return std::exchange(shrunk_, {}); }
  /// Returns when every bucket is reduced; throws collective_error.
  void finish() { buckets_.finish(); }
  /// Abandons the step; the caller has aborted the collective.
  void drop() noexcept { buckets_.drop(); }

private:
  double accumulate(const batch_view& rows, uint64_t seed);
  void shrink(const std::string& why);

  size_t features_; // of a row
  model& model_;
  compute_device& device_;
  const arenas& memory_;
  bucket_reducer buckets_;
  worker::micro_batch micro_;
  uint32_t pass_rows_ = 0; // of the pass in progress
  bool leaving_ = false;   // and its buckets leave during the pass
  bool sent_ = false;      // there are others to send gradients to
  std::optional<uint32_t> shrunk_;
};

} // namespace ballast::gpu
