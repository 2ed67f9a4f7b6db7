// Goal: a fence does not wait for a long pass: what is interrupted ends at the
// next layer, and the model is as good as new afterwards. Method: interrupts
// from within the pass, at every moment that can be told apart: each gradient
// that becomes ready, and each piece of memory that LibTorch asks for.
#include "tests/gpu/torch/counting_allocator.hpp"
#include "tests/gpu/torch/model_fixture.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace ballast::gpu {
namespace {

struct kind_of_model {
  job what;
  ledger::row_shape row;
};

std::vector<kind_of_model> models() {
  std::vector<kind_of_model> out;
  out.push_back({job_of(model_kind::mlp), flat(7, 3)});
  out.push_back({job_of(model_kind::cnn), image({3, 12, 12}, 4)});
  out.push_back({job_of(model_kind::resnet18), image({3, 12, 12}, 4)});
  out.back().what.model.stem = resnet_stem::cifar;
  out.push_back(
      {job_of(model_kind::transformer, loss_kind::next_token), tokens(9, 11)});
  for (size_t i = 0, count = out.size(); i < count; ++i) {
    out.push_back(out[i]);
    out.back().what.train.precision = compute_precision::bfloat16;
  }
  out.push_back(out[2]);
  out.back().what.train.activation_checkpointing = true;
  out.push_back(out[3]);
  out.back().what.train.activation_checkpointing = true;
  return out;
}

std::string name_of(const kind_of_model& one) {
  return to_string(one.what.model.kind) + " " +
         to_string(one.what.train.precision) +
         (one.what.train.activation_checkpointing ? " again" : "");
}

TEST(interrupting, ends_a_pass_that_has_not_begun) {
  for (const kind_of_model& one : models()) {
    model_setup m(one.what, one.row);
    random_rows rows(one.row, 4);
    m.made->interrupt();
    size_t told = 0;
    EXPECT_TRUE(std::isnan(m.made->accumulate(rows.view(), 1, [&](size_t) {
      ++told;
    }))) << name_of(one);
    EXPECT_EQ(told, 0u) << name_of(one);
    // Evaluations are not broken off.
    EXPECT_FALSE(std::isnan(m.made->evaluate(rows.view()).loss));
  }
}

TEST(interrupting, ends_the_way_back_at_the_next_gradient) {
  for (const kind_of_model& one : models()) {
    model_setup m(one.what, one.row);
    random_rows rows(one.row, 4);
    size_t told = 0;
    const double loss = m.made->accumulate(rows.view(), 1, [&](size_t) {
      if (++told == 2)
        m.made->interrupt();
    });
    EXPECT_TRUE(std::isnan(loss)) << name_of(one);
    EXPECT_EQ(told, 2u) << name_of(one);
  }
}

TEST(interrupting, leaves_a_model_that_goes_on_as_if_nothing_had_been) {
  for (const kind_of_model& one : models()) {
    model_setup fresh(one.what, one.row);
    model_setup broken(one.what, one.row);
    random_rows rows(one.row, 4);
    size_t told = 0;
    broken.made->accumulate(rows.view(), 1, [&](size_t) {
      if (++told == 3)
        broken.made->interrupt();
    });
    broken.made->resume();
    broken.clear();
    EXPECT_EQ(broken.accumulate(rows.view(), 2),
              fresh.accumulate(rows.view(), 2))
        << name_of(one);
    EXPECT_EQ(broken.gradients, fresh.gradients) << name_of(one);
  }
}

TEST(interrupting, ends_the_way_there_at_the_next_block) {
  for (const kind_of_model& one : models()) {
    if (one.what.model.kind != model_kind::resnet18 &&
        one.what.model.kind != model_kind::transformer)
      continue;
    model_setup m(one.what, one.row);
    random_rows rows(one.row, 4);
    counting_allocator memory;
    m.accumulate(rows.view());
    const size_t whole = memory.allocations();
    memory.restart();
    memory.on_allocation = [&](size_t number) {
      if (number == 3)
        m.made->interrupt();
    };
    EXPECT_TRUE(std::isnan(m.accumulate(rows.view()))) << name_of(one);
    EXPECT_LT(memory.allocations(), whole / 3)
        << name_of(one) << " takes " << whole;
    memory.on_allocation = {};
  }
}

} // namespace
} // namespace ballast::gpu
