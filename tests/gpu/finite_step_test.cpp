// Goal: nothing infinite enters the model, though the loss is finite: a step
// with such a gradient is refused by every rank, and no checkpoint is made of
// parameters that an update has driven out of range. Method: executors over an
// emulated model, one of which spoils a gradient.
#include "tests/gpu/executor_cluster.hpp"

#include <cmath>
#include <limits>
#include <utility>

namespace ballast::gpu {
namespace {

/// The emulated model; in its `at`-th step it adds `extra` to one gradient.
class spoiling_model final : public model {
public:
  spoiling_model(const model_spec& spec, int at, float extra)
      : inner_(spec), at_(at), extra_(extra) {}

  const std::vector<parameter_info>& parameters() const override {
    return inner_.parameters();
  }
  size_t parameter_count() const override { return inner_.parameter_count(); }
  void initialize(std::span<float> to) override { inner_.initialize(to); }
  void bind(std::span<float> parameters, std::span<float> gradients) override {
    inner_.bind(parameters, gradients);
    gradients_ = gradients;
  }
  double accumulate(const batch_view& batch, uint64_t seed,
                    const std::function<void(size_t)>& ready) override {
    double loss = inner_.accumulate(batch, seed, nullptr);
    if (++calls_ == at_)
      gradients_[7] += extra_;
    for (size_t i = 0; ready && i < parameters().size(); ++i)
      ready(i);
    return loss;
  }
  evaluation_sums evaluate(const batch_view& batch) override {
    return inner_.evaluate(batch);
  }

private:
  emulated_model inner_;
  int at_;
  float extra_;
  int calls_ = 0;
  std::span<float> gradients_;
};

/// Rank 0 spoils its `at`-th step.
cluster_setup spoiled(int at, float extra) {
  cluster_setup out;
  out.copies = true;
  auto rank = std::make_shared<int>(0);
  out.network = [=](const job& what, compute_device&) {
    const int mine = (*rank)++ == 0 ? at : 0;
    return std::make_unique<spoiling_model>(what.model, mine, extra);
  };
  return out;
}

constexpr float infinite = std::numeric_limits<float>::infinity();

TEST(finite_step, refuses_a_gradient_that_is_not_finite_on_every_rank) {
  for (float extra : {infinite, -infinite, std::nanf("")}) {
    for (std::optional<double> clip : {std::optional<double>(), {1.0}}) {
      job what = emulated_job(2, 10);
      what.train.clip_norm = clip;
      cluster c(2, 8, what, spoiled(3, extra));
      c.start();
      c.join();
      for (auto& one : c.workers_) {
        ASSERT_TRUE(one->failed) << extra;
        EXPECT_EQ(one->failed->code, errc::non_finite_gradient);
        EXPECT_EQ(one->failed->step, step_number{3});
        EXPECT_FALSE(one->failed->sample_ids.empty());
        EXPECT_NE(one->failed->message.find("'weight' of step 3"),
                  std::string::npos)
            << one->failed->message;
        EXPECT_EQ(one->state.held.step, step_number{2});
        for (float value : one->parameters())
          ASSERT_TRUE(std::isfinite(value));
      }
      // The state before it can be looked at.
      EXPECT_TRUE(c.workers_[0]->copies.contains(2));
    }
  }
}

// The first one that refuses leaves the others the end of the step.
TEST(finite_step, is_refused_by_a_slower_rank_for_the_same_reason) {
  for (int i = 0; i < 20; ++i) {
    cluster c(4, 8, emulated_job(4, 10), spoiled(3, infinite));
    c.start();
    c.join();
    for (auto& one : c.workers_) {
      ASSERT_TRUE(one->failed);
      ASSERT_EQ(one->failed->code, errc::non_finite_gradient)
          << one->failed->message;
    }
  }
}

TEST(finite_step, refuses_a_gradient_whose_square_adam_cannot_keep) {
  job what = emulated_job(2, 10);
  what.train.optimizer.kind = optimizer_kind::adamw;
  cluster c(2, 8, what, spoiled(3, 1e25F));
  c.start();
  c.join();
  ASSERT_TRUE(c.workers_[1]->failed);
  EXPECT_EQ(c.workers_[1]->failed->code, errc::non_finite_gradient);
  EXPECT_NE(c.workers_[1]->failed->message.find("adamw"), std::string::npos);
}

TEST(finite_step, makes_no_model_and_no_copy_of_infinite_parameters) {
  job what = emulated_job(1, 128); // one step
  what.train.optimizer.lr = 1e30;
  what.checkpoint.every_steps = 1;
  cluster c(2, 8, what, spoiled(1, 1e30F));
  c.start();
  c.join();
  for (auto& one : c.workers_) {
    ASSERT_TRUE(one->failed);
    EXPECT_EQ(one->failed->code, errc::non_finite_parameter);
    EXPECT_NE(one->failed->message.find("'weight' is not finite after step 1"),
              std::string::npos)
        << one->failed->message;
    EXPECT_FALSE(one->finished);
  }
  EXPECT_TRUE(c.workers_[0]->copies.empty()) << "so nobody fetches any";
}

} // namespace
} // namespace ballast::gpu
