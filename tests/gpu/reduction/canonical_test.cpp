// Goal: with the reduction canonical the parameters have the same bits for any
// number of workers and threads, and whatever leaves each of them takes.
// Method: executors in this process over the local and the ring collective.
#include "tests/gpu/executor_cluster.hpp"

#include <cstring>

namespace ballast::gpu {
namespace {

job canonical_job() {
  job out = emulated_job(3, 25);
  out.model.parameters = 300;
  out.train.order = sample_order::global;
  out.train.reduction = reduction_kind::canonical;
  out.train.leaves = 8;
  return out;
}

struct outcome {
  std::vector<float> parameters;
  std::vector<double> losses;
  double test_loss = 0;
};

outcome trained(size_t world, const job& what, cluster_setup setup = {}) {
  setup.test_chunks = 3;
  cluster c(world, 11, what, setup);
  c.start();
  c.join();
  c.expect_each_once(what.train.epochs);
  outcome out;
  for (auto& one : c.workers_) {
    EXPECT_TRUE(one->finished) << (one->failed ? one->failed->message : "");
    EXPECT_EQ(one->parameters(), c.workers_[0]->parameters());
  }
  out.parameters = c.workers_[0]->parameters();
  for (const ledger::step_record& one : c.workers_[0]->executor->drain().steps)
    out.losses.push_back(one.loss);
  out.test_loss = c.workers_[0]->evaluated->loss;
  return out;
}

void expect_same_bits(const outcome& a, const outcome& b) {
  ASSERT_EQ(a.parameters.size(), b.parameters.size());
  EXPECT_EQ(std::memcmp(a.parameters.data(), b.parameters.data(),
                        a.parameters.size() * sizeof(float)),
            0);
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.test_loss, b.test_loss);
}

TEST(canonical, has_the_same_bits_for_every_number_of_workers) {
  const outcome alone = trained(1, canonical_job());
  for (size_t world : {2, 3, 4, 5, 7, 8})
    expect_same_bits(alone, trained(world, canonical_job()));
}

TEST(canonical, has_the_same_bits_for_every_number_of_threads) {
  const outcome alone = trained(1, canonical_job());
  cluster_setup setup;
  setup.leaf_threads = 3;
  expect_same_bits(alone, trained(1, canonical_job(), setup));
  expect_same_bits(alone, trained(2, canonical_job(), setup));
}

TEST(canonical, has_the_same_bits_through_shared_memory) {
  cluster_setup setup;
  setup.backend = "ring";
  const outcome alone = trained(1, canonical_job());
  for (size_t world : {2, 3})
    expect_same_bits(alone, trained(world, canonical_job(), setup));
}

TEST(canonical, lets_workers_wait_for_which_there_is_no_leaf) {
  job what = canonical_job();
  what.train.leaves = 2;
  expect_same_bits(trained(1, what), trained(4, what));
}

TEST(canonical, has_other_bits_for_another_number_of_leaves) {
  job other = canonical_job();
  other.train.leaves = 4;
  EXPECT_NE(trained(1, canonical_job()).parameters,
            trained(1, other).parameters);
}

} // namespace
} // namespace ballast::gpu
