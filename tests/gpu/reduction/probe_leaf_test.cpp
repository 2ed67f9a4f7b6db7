// Goal: workers that compute alike have the same probe, and it is of what the
// job computes.
#include "gpu/reduction/probe_leaf.hpp"

#include "gpu/emulated_model.hpp"
#include "gpu/tensor_digests.hpp"

#include <gtest/gtest.h>
#include <vector>

namespace ballast::gpu {
namespace {

job emulated(size_t parameters) {
  job out;
  out.model.kind = model_kind::emulated;
  out.model.parameters = parameters;
  return out;
}

ledger::row_shape row() {
  ledger::row_shape out;
  out.features = 4;
  out.shape = {4};
  out.classes = 3;
  return out;
}

std::string probe(const job& what, float first = 0) {
  emulated_model model(what.model);
  std::vector<float> parameters(model.parameter_count());
  std::vector<float> gradients(parameters.size(), 5);
  parameters[0] = first;
  const std::string out = probe_leaf(what, row(), model, parameters, gradients);
  EXPECT_EQ(gradients, std::vector<float>(parameters.size()))
      << "nothing of it is left for the first step";
  return out;
}

TEST(probe_leaf, is_the_same_for_the_same_model) {
  EXPECT_EQ(probe(emulated(50)), probe(emulated(50)));
  EXPECT_EQ(probe(emulated(50)).size(), 16u);
}

TEST(probe_leaf, is_another_for_other_gradients) {
  EXPECT_NE(probe(emulated(50)), probe(emulated(51)));
  EXPECT_NE(probe(emulated(50)), probe(emulated(50), 0.5F));
}

// In the gradients of these rows it is lost.
TEST(probe_leaf, is_another_for_a_last_bit_of_a_parameter) {
  EXPECT_NE(probe(emulated(50)), probe(emulated(50), 1e-30F));
}

TEST(probe_leaf, is_of_both_sizes_that_leaves_have) {
  job even = emulated(50);
  even.train.leaves = 8;
  even.train.global_batch = 56;
  job uneven = even;
  uneven.train.global_batch = 57; // seven leaves of 7 rows, one of 8
  EXPECT_NE(probe(even), probe(uneven));
}

TEST(tensor_digests, are_those_of_each_parameter_for_any_number_of_threads) {
  emulated_model model(emulated(3 * emulated_model::piece_max).model);
  arenas memory;
  memory.count = model.parameter_count();
  memory.parameters.reset(new float[memory.count]());
  const auto before = tensor_digests(model, cpu_device(), memory, 1);
  EXPECT_EQ(before, tensor_digests(model, cpu_device(), memory, 3));
  ASSERT_EQ(before.size(), 3u);
  memory.parameters[emulated_model::piece_max] = 1e-30F;
  const auto after = tensor_digests(model, cpu_device(), memory, 3);
  EXPECT_EQ(after[0], before[0]);
  EXPECT_NE(after[1], before[1]);
  EXPECT_EQ(after[2], before[2]);
}

} // namespace
} // namespace ballast::gpu
