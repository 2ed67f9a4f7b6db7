// The optimizers step by step beside torch.optim's own.
#include "gpu/optimizer.hpp"

#include <gtest/gtest.h>
#include <torch/optim.h>

namespace ballast::gpu {
namespace {

constexpr int64_t count = 503;

optimizer_spec spec_of(optimizer_kind kind, double momentum, double decay) {
  return {
      .kind = kind, .lr = 0.02, .momentum = momentum, .weight_decay = decay};
}

std::unique_ptr<torch::optim::Optimizer> theirs(const optimizer_spec& spec,
                                                const torch::Tensor& p) {
  const std::vector<torch::Tensor> all{p};
  if (spec.kind == optimizer_kind::sgd)
    return std::make_unique<torch::optim::SGD>(
        all, torch::optim::SGDOptions(spec.lr)
                 .momentum(spec.momentum)
                 .weight_decay(spec.weight_decay));
  const std::tuple<double, double> betas{spec.beta1, spec.beta2};
  if (spec.kind == optimizer_kind::adam)
    return std::make_unique<torch::optim::Adam>(
        all, torch::optim::AdamOptions(spec.lr)
                 .betas(betas)
                 .eps(spec.eps)
                 .weight_decay(spec.weight_decay));
  return std::make_unique<torch::optim::AdamW>(
      all, torch::optim::AdamWOptions(spec.lr)
               .betas(betas)
               .eps(spec.eps)
               .weight_decay(spec.weight_decay));
}

class parity : public testing::TestWithParam<optimizer_spec> {};

INSTANTIATE_TEST_SUITE_P(
    optimizers, parity,
    testing::Values(spec_of(optimizer_kind::sgd, 0, 0),
                    spec_of(optimizer_kind::sgd, 0.9, 0.01),
                    spec_of(optimizer_kind::adam, 0, 0),
                    spec_of(optimizer_kind::adam, 0, 0.1),
                    spec_of(optimizer_kind::adamw, 0, 0.1)));

TEST_P(parity, takes_the_steps_of_torch_optim) {
  torch::manual_seed(11);
  torch::Tensor p = torch::randn({count}).requires_grad_(true);
  std::vector<float> values(p.data_ptr<float>(), p.data_ptr<float>() + count);
  auto expected = theirs(GetParam(), p);
  auto tested = make_optimizer(GetParam(), count);
  for (uint64_t step = 1; step <= 50; ++step) {
    torch::Tensor sums = torch::randn({count}) * 32;
    p.mutable_grad() = sums / 32; // a mean over 32 rows
    expected->step();
    tested->apply(values, {sums.data_ptr<float>(), size_t(count)}, 1.0 / 32,
                  GetParam().lr, step);
    torch::Tensor off = torch::from_blob(values.data(), {count}) - p.detach();
    ASSERT_LT(off.abs().max().item<double>(), 2e-6) << "step " << step;
  }
}

} // namespace
} // namespace ballast::gpu
