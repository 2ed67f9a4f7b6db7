/// Of a worker's take, the rows whose gradient is computed (train.importance,
/// runtime/sampling/importance.hpp): scores them, draws, and gathers those
/// drawn into a batch with weights. While it does not pay, the take itself.
///
/// Which rows: a function of the seed of the step and rank, and of the scores.
/// Thread: the step thread. The device outlives it.
#pragma once

#include "gpu/device.hpp"
#include "runtime/job/job.hpp"
#include "runtime/sampling/importance.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace ballast::gpu {

class important_rows {
public:
  /// Writes the scores of rows (batch_view), by forward passes only.
  using scorer = std::function<void(const batch_view&, std::span<float>)>;
  /// `features` of a row.
  important_rows(const importance_spec& how, uint32_t features,
                 compute_device& device, scorer score);

  /// The rows for the gradient pass; valid until the next call. Throws as the
  /// pass does.
  batch_view choose(const batch_view& take, uint64_t seed);
  /// Their ids, if some were drawn; else empty.
  const std::vector<uint64_t>& used() const { return ids_; }
  /// Their step is applied. Times of this thread, without waiting for a core.
  void stepped(uint32_t rows, const sampling::importance_times& times);

private:
  batch_view gather(const batch_view& take,
                    const std::vector<sampling::drawn_row>& drawn);

  const size_t features_;
  const double floor_;
  compute_device& device_;
  const scorer score_;
  sampling::importance_switch switch_;
  bool looking_ = false;   // scores_ are being written by the passes
  bool uncounted_ = false; // of this take none could be drawn
  std::vector<float> scores_;
  // What was drawn.
  std::vector<float> values_;
  std::vector<int64_t> labels_;
  std::vector<float> targets_;
  std::vector<uint64_t> ids_;
  std::vector<float> weights_;
};

} // namespace ballast::gpu
