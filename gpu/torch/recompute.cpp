#include "gpu/torch/recompute.hpp"

#include <ATen/Context.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <utility>

namespace ballast::gpu {
namespace {

/// The state of the random generator that an operation without one of its own
/// uses.
class random_state {
public:
  explicit random_state(at::Device device)
      : of_(device), state_(generator().get_state()) {}
  void restore() {
    at::Generator into = generator();
    into.set_state(state_);
  }

private:
  const at::Generator& generator() const {
    return at::globalContext().defaultGenerator(of_);
  }
  at::Device of_;
  at::Tensor state_;
};

struct kept_block final : torch::CustomClassHolder {
  kept_block(block_function f, random_state s)
      : function(std::move(f)), random(std::move(s)) {}
  block_function function;
  random_state random;
};

constexpr const char* key = "block";

class recompute_function final
    : public torch::autograd::Function<recompute_function> {
public:
  // Called with autograd off.
  static at::Tensor forward(torch::autograd::AutogradContext* context,
                            const at::Tensor& input,
                            const c10::intrusive_ptr<kept_block>& block) {
    context->save_for_backward({input});
    context->saved_data[key] =
        at::IValue::make_capsule(c10::intrusive_ptr<kept_block>(block));
    return block->function(input, false);
  }

  static torch::autograd::variable_list
  backward(torch::autograd::AutogradContext* context,
           const torch::autograd::variable_list& by_output) {
    auto block = c10::static_intrusive_pointer_cast<kept_block>(
        context->saved_data[key].toCapsule());
    const c10::AutoGradMode on(true);
    const at::Tensor input =
        context->get_saved_variables()[0].detach().requires_grad_(true);
    random_state after(input.device());
    block->random.restore();
    const at::Tensor output = block->function(input, true);
    after.restore();
    // Adds to the gradients of the leaves, whose hooks report that they are
    // complete: no other code uses a block's parameters.
    torch::autograd::backward({output}, {by_output[0]});
    return {input.grad(), at::Tensor()};
  }
};

} // namespace

at::Tensor recomputed(const at::Tensor& input, block_function block) {
  if (!c10::GradMode::is_enabled())
    return block(input, false);
  return recompute_function::apply(
      input, c10::make_intrusive<kept_block>(std::move(block),
                                             random_state(input.device())));
}

} // namespace ballast::gpu
