// Goal: what a step leaves out comes with the next one, and only if the step
// was applied; all ranks end with the same parameters; what is not compressed
// stays exact. Method: the reduction of one step after the other between
// threads, and whole executors.
#include "gpu/reduction/compressed_sum.hpp"

#include "gpu/reduction/bucket_reducer.hpp"
#include "runtime/base/random.hpp"
#include "tests/collectives/harness.hpp"
#include "tests/gpu/executor_cluster.hpp"
#include "tests/gpu/guarded_device.hpp"

#include <cmath>

namespace ballast::gpu {
namespace {

using ballast::testing::complaints;
using ballast::testing::rank_group;
using ballast::testing::soon;
using collectives::collective;

/// A matrix, a bias, and a matrix over several buckets.
std::vector<parameter_info> network() {
  return {{"first", {96, 96}, 0, 9216},
          {"bias", {96}, 9216, 96},
          {"second", {128, 80}, 9312, 10240}};
}
constexpr size_t network_floats = 19'552;

/// The sums of one worker, without an executor.
struct summing {
  explicit summing(compression_kind kind,
                   compute_device& device = cpu_device()) {
    how.compression = kind;
    how.compression_ratio = 0.05;
    const bucket_layout layout =
        make_bucket_layout(parameters, 4096, size_t{4} << 10);
    sums.emplace(
        compressed_sum::parts{&how, &parameters, layout, &device, &unsent});
    buckets.emplace(layout, device, &*sums);
  }
  /// Sums `gradients` over `group` as step `number` of `samples` rows.
  void step(collective& group, uint64_t number, std::vector<float>& gradients,
            uint64_t samples = 100, uint64_t in_generation = 1) {
    step(group, number, gradients.data(), samples, in_generation);
  }
  void step(collective& group, uint64_t number, float* gradients,
            uint64_t samples = 100, uint64_t in_generation = 1,
            bool nothing_left_out = false) {
    step_work work;
    work.nothing_left_out = nothing_left_out;
    work.at.step = step_number{number};
    work.samples = samples;
    work.seed = 3;
    work.generation = generation{in_generation};
    work.group = &group;
    sums->begin(work);
    buckets->begin(gradients, group, soon());
    for (size_t i = parameters.size(); i-- > 0;)
      buckets->parameter_ready(i);
    buckets->finish();
    sums->finished(group, soon());
  }

  const std::vector<parameter_info> parameters = network();
  train_spec how;
  residuals unsent;
  std::optional<compressed_sum> sums;
  std::optional<bucket_reducer> buckets;
};

std::vector<float> gradient_of(int rank, uint64_t step) {
  const counter_random random(uint64_t(rank) + 1, step);
  std::vector<float> out(network_floats);
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = float(2 * random.unit(i) - 1);
  return out;
}

class compressed_sums : public ::testing::TestWithParam<compression_kind> {};

TEST_P(compressed_sums, bring_everything_with_a_step_that_leaves_nothing_out) {
  constexpr int ranks = 3;
  constexpr uint64_t steps = 4;
  rank_group group("local", ranks);
  std::vector<std::vector<double>> balance(ranks);
  std::vector<double> sent(network_floats);
  auto outcomes = group.run([&](collective& c) {
    summing mine(GetParam());
    auto& there = balance[size_t(c.rank())];
    there.assign(network_floats, 0);
    for (uint64_t step = 1; step <= steps; ++step) {
      auto gradients = gradient_of(c.rank(), step);
      for (size_t i = 0; i < network_floats; ++i)
        there[i] += double(gradients[i]);
      mine.step(c, step, gradients.data(), 100, 1, step == steps);
      mine.unsent.applied(step_number{step}, 100);
      for (size_t i = 0; c.rank() == 0 && i < network_floats; ++i)
        sent[i] += double(gradients[i]);
    }
    EXPECT_EQ(mine.unsent.factor(100), 0.0F) << "nothing is kept";
  });
  ASSERT_EQ(complaints(outcomes), "");
  double lost = 0;
  double whole = 0;
  for (size_t i = 0; i < network_floats; ++i) {
    double expected = 0;
    for (const auto& one : balance)
      expected += one[i];
    lost += (expected - sent[i]) * (expected - sent[i]);
    whole += expected * expected;
  }
  const bool rounds = GetParam() == compression_kind::bf16;
  EXPECT_LT(std::sqrt(lost / whole), rounds ? 1e-2 : 1e-5);
}

TEST_P(compressed_sums, bring_everything_in_the_end) {
  constexpr int ranks = 3;
  constexpr uint64_t steps = 6;
  rank_group group("local", ranks);
  std::vector<std::vector<double>> balance(ranks);
  std::vector<std::vector<double>> sent(ranks);
  auto outcomes = group.run([&](collective& c) {
    summing mine(GetParam());
    auto& there = balance[size_t(c.rank())];
    auto& all = sent[size_t(c.rank())];
    there.assign(network_floats, 0);
    all.assign(network_floats, 0);
    for (uint64_t step = 1; step <= steps; ++step) {
      auto gradients = gradient_of(c.rank(), step);
      for (size_t i = 0; i < network_floats; ++i)
        there[i] += double(gradients[i]);
      mine.step(c, step, gradients);
      mine.unsent.applied(step_number{step}, 100);
      for (size_t i = 0; i < network_floats; ++i)
        all[i] += double(gradients[i]);
    }
    for (const parameter_info& one : mine.parameters)
      for (size_t i = 0; one.shape.size() > 1 && i < one.count; ++i)
        there[one.offset + i] -= double(mine.unsent.values()[one.offset + i]);
  });
  ASSERT_EQ(complaints(outcomes), "");
  double lost = 0;
  double whole = 0;
  for (size_t i = 0; i < network_floats; ++i) {
    double expected = 0;
    for (const auto& one : balance)
      expected += one[i];
    lost += (expected - sent[0][i]) * (expected - sent[0][i]);
    whole += expected * expected;
    EXPECT_EQ(sent[1][i], sent[0][i]);
  }
  const bool rounds = GetParam() == compression_kind::bf16;
  EXPECT_LT(std::sqrt(lost / whole), rounds ? 1e-2 : 1e-5);
}

TEST_P(compressed_sums, are_the_same_again_after_a_step_that_broke) {
  rank_group group("local", 2);
  auto outcomes = group.run([&](collective& c) {
    summing mine(GetParam());
    auto gradients = gradient_of(c.rank(), 1);
    mine.step(c, 1, gradients);
    mine.unsent.applied(step_number{1}, 100);
    auto first = gradient_of(c.rank(), 2);
    mine.step(c, 2, first, 100, 2);
    // Nobody applied it: all try again, in another generation.
    auto second = gradient_of(c.rank(), 2);
    mine.step(c, 2, second, 100, 3);
    EXPECT_EQ(first, second);
  });
  ASSERT_EQ(complaints(outcomes), "");
}

TEST_P(compressed_sums, are_the_same_of_gradients_on_a_device) {
  std::vector<std::vector<float>> found;
  for (bool elsewhere : {false, true}) {
    rank_group group("local", 2);
    std::vector<float> last(network_floats);
    auto outcomes = group.run([&](collective& c) {
      guarded_device gpu;
      compute_device& device =
          elsewhere ? static_cast<compute_device&>(gpu) : cpu_device();
      summing mine(GetParam(), device);
      const auto arena =
          device.allocate(network_floats, group.backend(c.rank()));
      for (uint64_t step = 1; step <= 3; ++step) {
        device.upload(arena.get(), gradient_of(c.rank(), step).data(),
                      network_floats);
        mine.step(c, step, arena.get());
        mine.unsent.applied(step_number{step}, 100);
      }
      if (c.rank() == 0)
        device.download(last.data(), arena.get(), network_floats);
    });
    ASSERT_EQ(complaints(outcomes), "");
    found.push_back(last);
  }
  EXPECT_EQ(found[0], found[1]);
}

TEST_P(compressed_sums, keep_small_tensors_exact) {
  rank_group group("local", 2);
  auto outcomes = group.run([&](collective& c) {
    summing mine(GetParam());
    auto gradients = gradient_of(c.rank(), 1);
    mine.step(c, 1, gradients);
    const auto a = gradient_of(0, 1);
    const auto b = gradient_of(1, 1);
    for (size_t i = 9216; i < 9312; ++i)
      EXPECT_EQ(gradients[i], a[i] + b[i]);
  });
  ASSERT_EQ(complaints(outcomes), "");
}

TEST_P(compressed_sums, hand_on_what_is_left_where_a_worker_is_alone) {
  summing mine(GetParam());
  rank_group pair("local", 2);
  std::vector<float> left(network_floats);
  auto outcomes = pair.run([&](collective& c) {
    summing other(GetParam());
    summing& who = c.rank() == 0 ? mine : other;
    auto gradients = gradient_of(c.rank(), 1);
    who.step(c, 1, gradients);
    who.unsent.applied(step_number{1}, 100);
  });
  ASSERT_EQ(complaints(outcomes), "");
  std::copy_n(mine.unsent.values(), network_floats, left.data());
  rank_group one("local", 1);
  outcomes = one.run([&](collective& c) {
    std::vector<float> gradients(network_floats);
    mine.step(c, 2, gradients, 50, 2);
    // Of half as many rows: the mean takes it as it was.
    for (const parameter_info& one : mine.parameters)
      for (size_t i = 0; one.shape.size() > 1 && i < one.count; ++i)
        ASSERT_EQ(gradients[one.offset + i], left[one.offset + i] * 0.5F);
    mine.unsent.applied(step_number{2}, 50);
    std::fill(gradients.begin(), gradients.end(), 0.0F);
    mine.step(c, 3, gradients, 50, 2);
    EXPECT_EQ(gradients, std::vector<float>(network_floats));
  });
  ASSERT_EQ(complaints(outcomes), "");
}

INSTANTIATE_TEST_SUITE_P(
    all, compressed_sums,
    ::testing::Values(compression_kind::bf16, compression_kind::int8,
                      compression_kind::topk, compression_kind::powersgd),
    [](const auto& info) { return to_string(info.param); });

/// Spoils what one rank receives.
class spoiling final : public collectives::collective {
public:
  explicit spoiling(collective& inner) : inner_(inner) {}
  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  collectives::collective_state state() const override {
    return inner_.state();
  }
  void all_reduce(void* data, size_t count, collectives::element_type type,
                  collectives::deadline until) override {
    inner_.all_reduce(data, count, type, until);
    if (type == collectives::element_type::bfloat16 && rank() == 1)
      static_cast<uint16_t*>(data)[0] ^= 1;
  }
  void broadcast(void*, size_t, int, collectives::deadline) override {}
  void barrier(collectives::deadline) override {}
  void abort(const std::string&) noexcept override {}
  void close(collectives::deadline) override {}
  uint64_t bytes_sent() const override { return 0; }

private:
  collective& inner_;
};

TEST(compressed_sum, is_refused_by_all_where_one_rank_has_another_bit) {
  rank_group group("local", 3);
  std::atomic<int> refused = 0;
  auto outcomes = group.run([&](collective& c) {
    summing mine(compression_kind::bf16);
    spoiling bad(c);
    auto gradients = gradient_of(c.rank(), 1);
    try {
      mine.step(bad, 1, gradients);
    } catch (const ballast_error& e) {
      refused += e.what_failed().code == errc::other_bits ? 1 : 0;
    }
  });
  ASSERT_EQ(complaints(outcomes), "");
  EXPECT_EQ(refused, 3);
}

TEST(residuals, of_a_step_that_was_not_applied_stay_as_they_were) {
  residuals unsent;
  unsent.keep(2);
  unsent.begin(step_number{1});
  unsent.pending()[0] = 5;
  unsent.complete();
  unsent.applied(step_number{1}, 10);
  EXPECT_EQ(unsent.values()[0], 5.0F);
  EXPECT_EQ(unsent.factor(20), 2.0F);
  unsent.begin(step_number{2});
  unsent.pending()[0] = 7;
  unsent.applied(step_number{2}, 10); // not whole
  EXPECT_EQ(unsent.values()[0], 5.0F);
  unsent.complete();
  unsent.applied(step_number{3}, 10); // another step
  EXPECT_EQ(unsent.values()[0], 5.0F);
}

job compressed_job(compression_kind kind) {
  job out = emulated_job(3, 25);
  out.model.parameters = 66'000; // one parameter, no bias
  out.train.compression = kind;
  return out;
}

TEST(compressed_training, ends_with_the_same_parameters_on_every_rank) {
  for (compression_kind kind :
       {compression_kind::bf16, compression_kind::int8, compression_kind::topk,
        compression_kind::powersgd, compression_kind::automatic})
    for (const char* backend : {"local", "ring"}) {
      cluster_setup setup;
      setup.backend = backend;
      cluster c(3, 11, compressed_job(kind), setup);
      c.start();
      c.join();
      c.expect_each_once(3);
      for (auto& one : c.workers_) {
        EXPECT_TRUE(one->finished) << (one->failed ? one->failed->message : "");
        EXPECT_EQ(one->parameters(), c.workers_[0]->parameters());
      }
    }
}

TEST(compressed_training, comes_close_to_the_usual_one) {
  auto trained = [](compression_kind kind) {
    cluster c(2, 11, compressed_job(kind));
    c.start();
    c.join();
    return c.workers_[0]->parameters();
  };
  const auto exact = trained(compression_kind::none);
  for (compression_kind kind :
       {compression_kind::bf16, compression_kind::int8}) {
    const auto found = trained(kind);
    double error = 0;
    double whole = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      error += std::pow(double(found[i]) - double(exact[i]), 2);
      whole += std::pow(double(exact[i]), 2);
    }
    EXPECT_LT(std::sqrt(error / whole), 0.01) << to_string(kind);
  }
}

} // namespace
} // namespace ballast::gpu
