// Goal: the list of the training state is all of it: each tensor has one name
// and one place, and parameters, buffers and the optimizer's state are all
// there, for models that have more than parameters.
#include "gpu/state_parts.hpp"

#include "tests/gpu/torch/model_fixture.hpp"

#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace ballast::gpu {
namespace {

TEST(state_parts, name_each_tensor_once_and_cover_every_value) {
  job what = job_of(model_kind::cnn);
  what.model.batch_norm = true;
  const auto net = make_model({&what, image({14, 14}, 4), 1, {}});
  arenas memory;
  memory.count = net->parameter_count();
  memory.parameters = collectives::zeroed_floats(memory.count);
  const auto update =
      make_optimizer({.kind = optimizer_kind::adamw}, memory.count);

  const std::vector<state_part> parts =
      state_parts(*net, *update, memory, cpu_device());
  std::set<std::string> names;
  std::map<state_part::kind, size_t> values;
  for (const state_part& part : parts) {
    size_t covered = 0;
    for (const part_tensor& one : part.tensors) {
      EXPECT_TRUE(names.insert(one.name).second) << one.name;
      EXPECT_EQ(one.first, covered) << one.name;
      covered += one.count;
    }
    EXPECT_EQ(covered, part.values.size());
    values[part.what] += covered;
  }
  EXPECT_EQ(parts.front().values.data(), memory.parameters.get());
  EXPECT_EQ(values[state_part::kind::parameters], memory.count);
  EXPECT_EQ(values[state_part::kind::optimizer], 2 * memory.count);
  EXPECT_GT(values[state_part::kind::buffer], 0u);
  EXPECT_TRUE(names.contains("optimizer/exp_avg"));
  EXPECT_EQ(values[state_part::kind::best], 0u);

  const size_t buffers = values[state_part::kind::buffer];
  memory.best = collectives::zeroed_floats(memory.count);
  memory.best_buffers = collectives::zeroed_floats(buffers);
  size_t kept = 0;
  for (const state_part& part :
       state_parts(*net, *update, memory, cpu_device()))
    if (part.what == state_part::kind::best)
      for (const part_tensor& one : part.tensors) {
        kept += one.count;
        EXPECT_TRUE(names.contains(one.name.substr(5))) << one.name;
      }
  EXPECT_EQ(kept, memory.count + buffers);
}

} // namespace
} // namespace ballast::gpu
