// Where several ranks hold the state, a newcomer gets it from all of them: what
// it then has, and trains to, is bit for bit what they have.
#include "runtime/base/random.hpp"
#include "tests/gpu/executor_cluster.hpp"

#include <algorithm>

namespace ballast::gpu {
namespace {

job large_job() {
  job out = emulated_job(2, 40);
  out.model.parameters = 300'001; // stripes, and an odd end
  out.train.optimizer = {.kind = optimizer_kind::adamw, .lr = 0.01};
  // Sums in the order of the backend depend on the times that it measures.
  out.train.order = sample_order::global;
  out.train.reduction = reduction_kind::canonical;
  return out;
}

/// Of training that has gone on for a while, as far as the numbers tell.
void set_state(cluster::worker& of, bool wrong) {
  uint64_t seed = 1;
  auto fill = [&](std::span<float> values) {
    const counter_random random(seed++, 0);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = wrong ? 77 : float(random.unit(i)) / 8;
  };
  fill({of.memory.parameters.get(), of.memory.count});
  for (const optimizer::state_vector& one : of.update->state())
    fill(one.values);
}

std::vector<float> optimizers_state(cluster::worker& of) {
  std::vector<float> out;
  for (const optimizer::state_vector& one : of.update->state())
    out.insert(out.end(), one.values.begin(), one.values.end());
  return out;
}

/// Of the weights after training, by rank.
std::vector<std::string> digests(const std::string& backend, size_t world,
                                 const generation_start& how) {
  cluster_setup setup;
  setup.backend = backend;
  cluster c(world, 11, large_job(), setup);
  for (size_t rank = 0; rank < world; ++rank)
    set_state(*c.workers_[rank],
              std::ranges::count(how.stale, uint32_t(rank)) > 0);
  c.start(how);
  c.join();
  std::vector<std::string> out;
  for (const auto& one : c.workers_) {
    EXPECT_TRUE(one->finished) << (one->failed ? one->failed->message : "");
    out.push_back(one->finished ? one->finished->weights_digest : "");
    EXPECT_TRUE(optimizers_state(*one) == optimizers_state(*c.workers_[0]));
  }
  return out;
}

TEST(newcomers_state, is_bit_equal_whoever_sends_which_part_of_it) {
  constexpr size_t world = 5;
  for (const char* backend : {"ring-tcp", "ring-shm", "local"}) {
    SCOPED_TRACE(backend);
    const std::vector<std::string> all = digests(backend, world, {});
    EXPECT_EQ(all, std::vector<std::string>(world, all.front()));
    const generation_start one{
        .stale = {3}, .late = {}, .source = 0, .evaluate = {}};
    EXPECT_EQ(digests(backend, world, one), all);
    const generation_start several{
        .stale = {0, 2, 4}, .late = {}, .source = 1, .evaluate = {}};
    EXPECT_EQ(digests(backend, world, several), all);
  }
}

} // namespace
} // namespace ballast::gpu
