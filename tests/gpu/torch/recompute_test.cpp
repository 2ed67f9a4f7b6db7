// Goal: blocks that are computed again need less memory and change no bit.
// Method: the same model and batch with and without, LibTorch's memory counted.
#include "gpu/torch/autograd_leaves.hpp"
#include "gpu/torch/recompute.hpp"
#include "runtime/base/errors.hpp"
#include "tests/gpu/torch/counting_allocator.hpp"
#include "tests/gpu/torch/model_fixture.hpp"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace ballast::gpu {
namespace {

job deep_transformer(bool again,
                     compute_precision precision = compute_precision::float32) {
  job out = job_of(model_kind::transformer, loss_kind::next_token);
  out.model.layers = 8;
  out.model.width = 48;
  out.train.precision = precision;
  out.train.activation_checkpointing = again;
  return out;
}

job residual(bool again,
             compute_precision precision = compute_precision::float32) {
  job out = job_of(model_kind::resnet18);
  out.model.stem = resnet_stem::cifar;
  out.train.precision = precision;
  out.train.activation_checkpointing = again;
  return out;
}

struct both_ways {
  model_setup kept;
  model_setup again;
  random_rows rows;

  both_ways(const job& plain, const job& recomputing,
            const ledger::row_shape& row, uint32_t count)
      : kept(plain, row), again(recomputing, row), rows(row, count) {}

  void expect_equal() {
    const double loss = kept.accumulate(rows.view());
    EXPECT_EQ(again.accumulate(rows.view()), loss);
    EXPECT_EQ(again.gradients, kept.gradients);
    // A second micro-batch adds to the first.
    kept.accumulate(rows.view(0, 2), 2);
    again.accumulate(rows.view(0, 2), 2);
    EXPECT_EQ(again.gradients, kept.gradients);
  }
};

TEST(recomputing, changes_no_bit_of_a_transformer) {
  for (const compute_precision precision :
       {compute_precision::float32, compute_precision::bfloat16}) {
    both_ways m(deep_transformer(false, precision),
                deep_transformer(true, precision), tokens(16, 30), 5);
    m.expect_equal();
  }
}

TEST(recomputing, changes_no_bit_of_a_resnet_and_of_its_statistics) {
  for (const compute_precision precision :
       {compute_precision::float32, compute_precision::bfloat16}) {
    both_ways m(residual(false, precision), residual(true, precision),
                image({3, 12, 12}, 4), 4);
    m.expect_equal();
    const size_t count = m.kept.made->statistics_count();
    std::vector<float> a(count), b(count);
    m.kept.made->take_statistics(a);
    m.again.made->take_statistics(b);
    EXPECT_EQ(a, b) << "each batch counts once";
    EXPECT_NE(a, std::vector<float>(count));
  }
}

TEST(recomputing, leaves_evaluations_as_they_are) {
  both_ways m(residual(false), residual(true), image({3, 12, 12}, 4), 4);
  EXPECT_EQ(m.kept.made->evaluate(m.rows.view()).loss,
            m.again.made->evaluate(m.rows.view()).loss);
}

TEST(recomputing, tells_of_every_gradient_once_the_last_ones_first) {
  model_setup m(deep_transformer(true), tokens(16, 30));
  random_rows rows(m.row, 3);
  std::vector<size_t> told;
  m.made->accumulate(rows.view(), 1, [&](size_t i) { told.push_back(i); });
  std::vector<size_t> sorted = told;
  std::sort(sorted.begin(), sorted.end());
  std::vector<size_t> all(m.made->parameters().size());
  std::iota(all.begin(), all.end(), size_t{0});
  EXPECT_EQ(sorted, all);
  const auto place = [&](const std::string& name) {
    return std::find(told.begin(), told.end(), m.index_of(name)) - told.begin();
  };
  EXPECT_LT(place("h.7.mlp.c_fc.weight"), place("h.0.mlp.c_fc.weight"));
}

size_t peak_of(const job& what, const ledger::row_shape& row, uint32_t count) {
  model_setup m(what, row);
  random_rows rows(row, count);
  m.accumulate(rows.view()); // what is made once is made
  counting_allocator memory;
  m.accumulate(rows.view());
  return memory.peak_bytes();
}

TEST(recomputing, holds_less_memory_between_the_way_there_and_back) {
  const ledger::row_shape row = tokens(64, 30);
  const size_t kept = peak_of(deep_transformer(false), row, 16);
  const size_t again = peak_of(deep_transformer(true), row, 16);
  // One layer's values and eight inputs instead of eight layers' values.
  EXPECT_LT(again, kept / 3) << kept << " bytes without, " << again << " with";
  const ledger::row_shape small = image({3, 16, 16}, 4);
  const size_t kept_images = peak_of(residual(false), small, 16);
  const size_t again_images = peak_of(residual(true), small, 16);
  // Besides, convolutions take scratch of LibTorch's, by processor 0 to 30 MB.
  EXPECT_LT(again_images + 10'000'000, kept_images)
      << kept_images << " bytes without, " << again_images << " with";
  printf("transformer %zu -> %zu bytes, resnet18 %zu -> %zu bytes\n", kept,
         again, kept_images, again_images);
}

TEST(recomputing, draws_the_same_random_numbers_and_leaves_the_later_ones) {
  const auto run = [](bool again) {
    at::manual_seed(5);
    at::Tensor weight = torch::ones({40}, torch::requires_grad());
    const at::Tensor input = torch::ones({40}, torch::requires_grad());
    const block_function block = [&](const at::Tensor& x, bool) {
      return at::dropout(x.mul(weight), 0.5, true);
    };
    at::Tensor out = again ? recomputed(input, block) : block(input, false);
    const at::Tensor between = at::rand({3}); // somebody else's
    out.sum().backward();
    return std::tuple{out.detach(), weight.grad(), input.grad(), between,
                      at::rand({3})};
  };
  const auto [out, by_weight, by_input, between, later] = run(false);
  const auto [out2, by_weight2, by_input2, between2, later2] = run(true);
  EXPECT_TRUE(at::equal(out, out2));
  EXPECT_TRUE(at::equal(by_weight, by_weight2));
  EXPECT_TRUE(at::equal(by_input, by_input2));
  EXPECT_TRUE(at::equal(between, between2));
  EXPECT_TRUE(at::equal(later, later2));
  EXPECT_FALSE(at::equal(by_weight, at::full({40}, 2.0))) << "some are dropped";
}

TEST(recomputing, keeps_nothing_where_nobody_wants_gradients) {
  const c10::NoGradGuard no_grad;
  int calls = 0;
  const at::Tensor out =
      recomputed(at::ones({2}), [&](const at::Tensor& x, bool again) {
        EXPECT_FALSE(again);
        ++calls;
        return x.add(1);
      });
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(out.requires_grad());
}

} // namespace
} // namespace ballast::gpu
