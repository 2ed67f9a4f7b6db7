/// A model's parameters as leaves of LibTorch's autograd. Their values and
/// gradients are the executor's arenas themselves: a backward pass adds to the
/// bound gradients in place, and reports each parameter when its gradient is
/// complete (the last layers' first), so that its bucket can leave while the
/// rest is computed.
///
/// Thread: the step thread, hooks too.
#pragma once

#include "gpu/model.hpp"
#include "gpu/torch/objective.hpp"

#include <ATen/core/Tensor.h>
#include <c10/core/InferenceMode.h>
#include <functional>
#include <vector>

namespace ballast::gpu {

class autograd_leaves {
public:
  /// The first `bind` creates them.
  autograd_leaves() = default;
  ~autograd_leaves();
  autograd_leaves(const autograd_leaves&) = delete;

  /// Uses these tensors, which other code computes with.
  void adopt(std::vector<at::Tensor> leaves);

  /// Leaf i uses the memory of `values[i]`, its gradient that of
  /// `gradients[i]`. Not under inference mode, whose tensors cannot take part
  /// in autograd.
  void bind(const std::vector<at::Tensor>& values,
            const std::vector<at::Tensor>& gradients);

  const at::Tensor& operator[](size_t i) const { return leaves_[i]; }

  /// Adds d (root * by_root) / d leaf to every gradient and calls `ready(i)`
  /// (if given) once for each leaf, also for those on which `root` does not
  /// depend.
  void backward(const at::Tensor& root, const at::Tensor& by_root,
                const std::function<void(size_t)>& ready);
  /// The same for the loss of `outputs` (rows x columns); returns it, summed
  /// over the rows.
  double backward(const at::Tensor& outputs, const objective& goal,
                  const batch_view& batch,
                  const std::function<void(size_t)>& ready);

private:
  class hook;

  void finish(size_t i);

  std::vector<at::Tensor> leaves_;
  std::vector<bool> done_;
  const std::function<void(size_t)>* ready_ = nullptr; // during a pass
};

/// Enables autograd within code that runs in inference mode.
class autograd_scope {
public:
  autograd_scope();

private:
  const c10::InferenceMode off_{false}; // its destructor restores everything
};

} // namespace ballast::gpu
