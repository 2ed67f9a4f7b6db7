#include "gpu/torch/autograd_leaves.hpp"

#include <algorithm>
#include <c10/core/AutogradState.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

namespace ballast::gpu {

class autograd_leaves::hook final
    : public torch::autograd::PostAccumulateGradHook {
public:
  hook(autograd_leaves& of, size_t index) : of_(of), index_(index) {}
  void operator()(const torch::autograd::Variable&) override {
    of_.finish(index_);
  }

private:
  autograd_leaves& of_; // removes the hooks before it is destroyed
  size_t index_;
};

void autograd_leaves::adopt(std::vector<at::Tensor> leaves) {
  leaves_ = std::move(leaves);
  done_.resize(leaves_.size());
  for (size_t i = 0; i < leaves_.size(); ++i) {
    leaves_[i].requires_grad_(true);
    torch::autograd::impl::set_post_acc_grad_hooks(
        leaves_[i], std::make_unique<hook>(*this, i));
  }
}

autograd_leaves::~autograd_leaves() {
  for (at::Tensor& leaf : leaves_)
    torch::autograd::impl::set_post_acc_grad_hooks(leaf, nullptr);
}

void autograd_leaves::bind(const std::vector<at::Tensor>& values,
                           const std::vector<at::Tensor>& gradients) {
  if (leaves_.empty()) {
    std::vector<at::Tensor> made;
    for (const at::Tensor& value : values)
      made.push_back(value.detach());
    adopt(std::move(made));
  }
  for (size_t i = 0; i < leaves_.size(); ++i) {
    if (leaves_[i].const_data_ptr() != values[i].const_data_ptr())
      leaves_[i].set_data(values[i]);
    leaves_[i].mutable_grad() = gradients[i];
  }
}

void autograd_leaves::backward(const at::Tensor& root,
                               const at::Tensor& by_root,
                               const std::function<void(size_t)>& ready) {
  std::fill(done_.begin(), done_.end(), false);
  ready_ = ready ? &ready : nullptr;
  if (root.requires_grad())
    torch::autograd::backward({root}, {by_root});
  // A parameter that this forward pass did not use gets no hook call.
  for (size_t i = 0; i < leaves_.size(); ++i)
    finish(i);
  ready_ = nullptr;
}

double autograd_leaves::backward(const at::Tensor& outputs,
                                 const objective& goal, const batch_view& batch,
                                 const std::function<void(size_t)>& ready) {
  at::Tensor by_outputs = outputs.detach().clone(at::MemoryFormat::Contiguous);
  const double loss =
      goal.differentiate(batch, {by_outputs.mutable_data_ptr<float>(),
                                 size_t(by_outputs.numel())});
  backward(outputs, by_outputs, ready);
  return loss;
}

void autograd_leaves::finish(size_t i) {
  if (ready_ && !done_[i])
    (*ready_)(i);
  done_[i] = true;
}

// `ready` is promised on the calling thread, whatever the device: by default a
// device's part of a backward pass has a thread of its own.
autograd_scope::autograd_scope() {
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
}

} // namespace ballast::gpu
