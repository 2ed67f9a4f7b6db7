/// The rows that a model computes with, where it computes. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ballast::metrics {
class tally;
} // namespace ballast::metrics

namespace ballast::gpu {

/// Values of a batch in the memory of the computing device; null if that is the
/// host.
struct device_rows {
  const float* features = nullptr;
  const int64_t* labels = nullptr;
  const float* targets = nullptr;
};

/// A batch ready for the model. Pointers are valid during the call.
struct batch_view {
  const float* features = nullptr;      // rows x row_shape.features
  const int64_t* labels = nullptr;      // rows; null for regression
  const float* targets = nullptr;       // rows; null for classes
  const uint64_t* sample_ids = nullptr; // rows
  uint32_t rows = 0;
  device_rows there = {};
  /// On the host: what each row counts in the sums of losses and gradients of a
  /// training pass. Null: all 1.
  const float* weights = nullptr;
  /// On the host: where a pass writes how much each row matters to the gradient
  /// (train.importance.by): its loss, or the L2 norm of its loss's gradient by
  /// the model's outputs, without the weights above. Null: it is not asked to.
  /// A model that knows none writes nothing.
  float* scores = nullptr;
  /// Where an evaluation adds each row up for the job's metrics. Null: it is
  /// not asked to.
  metrics::tally* tally = nullptr;

  /// `count` rows from row `begin` on, of rows with `width` features.
  batch_view slice(uint32_t begin, uint32_t count, uint32_t width) const {
    auto from = [begin](auto* pointer, size_t each) {
      return pointer ? pointer + size_t(begin) * each : nullptr;
    };
    return {.features = from(features, width),
            .labels = from(labels, 1),
            .targets = from(targets, 1),
            .sample_ids = from(sample_ids, 1),
            .rows = count,
            .there = {from(there.features, width), from(there.labels, 1),
                      from(there.targets, 1)},
            .weights = from(weights, 1),
            .scores = from(scores, 1),
            .tally = tally};
  }
};

} // namespace ballast::gpu
