/// A model's training pass, recorded for each shape that comes again. Small
/// kernels take a GPU less time than the host needs to enqueue them one by one;
/// a recording is enqueued at once.
///
/// A recording is bound to addresses: it has inputs of its own, which the batch
/// is copied to, and is made for one pair of arenas. The first passes of a
/// shape run as they are: libraries choose their algorithms then.
///
/// Thread: the step thread.
#pragma once

#include "gpu/batch_view.hpp"
#include "gpu/model_place.hpp"
#include "gpu/torch/batch_norm.hpp"
#include "gpu/torch/pass_recorder.hpp"

#include <ATen/core/Tensor.h>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace ballast::gpu {

class recorded_steps {
public:
  /// Null: nothing is recorded.
  using opener = std::unique_ptr<pass_recorder>(const model_place& place);
  /// `features` of a row. By default it records if the place is a GPU whose
  /// LibTorch can.
  recorded_steps(const model_place& place, uint32_t features,
                 opener* open = open_recorder);

  /// What the pass works on besides the batch.
  struct bound_arenas {
    const float* parameters = nullptr;
    const float* gradients = nullptr;
    bool operator==(const bound_arenas&) const = default;
  };
  /// The loss sum of the batch, a scalar on the device. `pass` computes it, the
  /// gradients, and pending statistics of `norms`: equally for equal inputs.
  at::Tensor run(const batch_view& batch, const bound_arenas& on,
                 batch_norms& norms,
                 const std::function<at::Tensor(const batch_view&)>& pass);

  /// Gives their memory back.
  void forget() { recordings_.clear(); }

private:
  static opener open_recorder;

  struct recording {
    bound_arenas on;
    uint32_t rows = 0;
    uint32_t passes = 0; // that ran as they are
    uint64_t used = 0;   // the number of the last use
    at::Tensor features, labels, targets;
    std::unique_ptr<recorded_pass> replayable; // null: not yet
    at::Tensor loss;
    batch_norms::seen_batches seen;
  };

  recording& recording_for(const batch_view& batch, const bound_arenas& on);
  void record(recording& into, const batch_view& batch, batch_norms& norms,
              const std::function<at::Tensor(const batch_view&)>& pass);
  void copy_inputs(recording& to, const batch_view& batch) const;
  batch_view inputs_of(const recording& one, batch_view batch) const;

  model_place place_;
  uint32_t features_;
  opener* open_;
  std::unique_ptr<pass_recorder> recorder_; // null: records nothing
  uint64_t uses_ = 0;
  std::vector<std::unique_ptr<recording>> recordings_;
};

} // namespace ballast::gpu
