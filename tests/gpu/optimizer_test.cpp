// The update rules against the formulas of torch.optim in double precision,
// and the schedule's fixed points. (tests/gpu/torch compares with LibTorch.)
#include "gpu/optimizer.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/random.hpp"

#include <cmath>
#include <gtest/gtest.h>

namespace ballast::gpu {
namespace {

constexpr size_t count = 1037; // no multiple of a vector register

std::vector<float> noise(uint64_t stream) {
  counter_random random(5, stream);
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i)
    out[i] = float(2 * random.unit(i) - 1);
  return out;
}

/// Five steps of the optimizer beside `reference(p, g, state1, state2, step)`
/// in double, element by element.
template <class Reference>
void expect_same(const optimizer_spec& spec, Reference reference) {
  auto tested = make_optimizer(spec, count);
  std::vector<float> p = noise(0);
  std::vector<double> expected(p.begin(), p.end());
  std::vector<double> s1(count), s2(count);
  for (uint64_t step = 1; step <= 5; ++step) {
    std::vector<float> g = noise(step);
    tested->apply(p, g, 0.25, spec.lr, step);
    for (size_t i = 0; i < count; ++i)
      reference(expected[i], 0.25 * double(g[i]), s1[i], s2[i], double(step));
  }
  for (size_t i = 0; i < count; ++i)
    ASSERT_NEAR(p[i], expected[i], 1e-5) << i;
}

TEST(optimizer, sgd_subtracts_lr_times_gradient_and_decay) {
  optimizer_spec spec{
      .kind = optimizer_kind::sgd, .lr = 0.1, .weight_decay = 0.01};
  expect_same(spec, [](double& p, double g, double&, double&, double) {
    p -= 0.1 * (g + 0.01 * p);
  });
}

TEST(optimizer, sgd_with_momentum_keeps_a_velocity) {
  optimizer_spec spec{.kind = optimizer_kind::sgd, .lr = 0.1, .momentum = 0.9};
  expect_same(spec, [](double& p, double g, double& v, double&, double) {
    v = 0.9 * v + g;
    p -= 0.1 * v;
  });
}

void adam_reference(const optimizer_spec& spec, bool decoupled) {
  expect_same(spec, [&](double& p, double g, double& m, double& v, double t) {
    if (decoupled)
      p *= 1 - spec.lr * spec.weight_decay;
    else
      g += spec.weight_decay * p;
    m = spec.beta1 * m + (1 - spec.beta1) * g;
    v = spec.beta2 * v + (1 - spec.beta2) * g * g;
    double m_hat = m / (1 - std::pow(spec.beta1, t));
    double v_hat = v / (1 - std::pow(spec.beta2, t));
    p -= spec.lr * m_hat / (std::sqrt(v_hat) + spec.eps);
  });
}

TEST(optimizer, adam_adds_weight_decay_to_the_gradient) {
  adam_reference(
      {.kind = optimizer_kind::adam, .lr = 0.01, .weight_decay = 0.1}, false);
}

TEST(optimizer, adamw_shrinks_the_parameters_instead) {
  adam_reference(
      {.kind = optimizer_kind::adamw, .lr = 0.01, .weight_decay = 0.1}, true);
}

TEST(optimizer, gives_the_same_bits_however_the_arena_is_cut) {
  optimizer_spec spec{
      .kind = optimizer_kind::adamw, .lr = 0.01, .weight_decay = 0.1};
  std::vector<float> whole = noise(0), cut = whole, g = noise(1);
  make_optimizer(spec, count)->apply(whole, g, 0.5, 0.01, 1);
  for (size_t begin : {size_t{0}, size_t{3}}) {
    size_t length = begin == 0 ? 3 : count - 3;
    make_optimizer(spec, length)
        ->apply(std::span(cut).subspan(begin, length),
                std::span(g).subspan(begin, length), 0.5, 0.01, 1);
  }
  EXPECT_EQ(whole, cut);
}

TEST(optimizer, names_its_state_as_torch_does) {
  auto names = [](optimizer_kind kind, double momentum) {
    std::vector<std::string> out;
    auto made = make_optimizer({.kind = kind, .momentum = momentum}, count);
    for (const auto& s : made->state()) {
      EXPECT_EQ(s.values.size(), count);
      out.push_back(s.name);
    }
    return out;
  };
  using list = std::vector<std::string>;
  EXPECT_EQ(names(optimizer_kind::sgd, 0), list{});
  EXPECT_EQ(names(optimizer_kind::sgd, 0.9), list{"momentum_buffer"});
  EXPECT_EQ(names(optimizer_kind::adamw, 0), (list{"exp_avg", "exp_avg_sq"}));
}

TEST(optimizer, accepts_a_model_without_parameters) {
  for (const optimizer_kind kind :
       {optimizer_kind::sgd, optimizer_kind::adam, optimizer_kind::adamw})
    make_optimizer({.kind = kind}, 0)->apply({}, {}, 1, 0.1, 1);
}

TEST(optimizer, refuses_arenas_of_another_size) {
  std::vector<float> p(3), g(4);
  EXPECT_THROW(make_optimizer({}, 3)->apply(p, g, 1, 0.1, 1), ballast_error);
}

TEST(optimizer, refuses_what_would_not_stay_finite_and_changes_nothing) {
  const float none = std::nanf(""), infinite = INFINITY;
  struct row {
    optimizer_kind kind;
    std::optional<double> clip;
    float worst; // one of the gradients
    bool applied;
  };
  for (const row& one : {row{optimizer_kind::sgd, {}, 1e25F, true},
                         {optimizer_kind::sgd, {}, infinite, false},
                         {optimizer_kind::sgd, {}, none, false},
                         {optimizer_kind::sgd, 1.0, none, false},
                         {optimizer_kind::sgd, 1.0, -infinite, false},
                         {optimizer_kind::adam, {}, 1e18F, true},
                         {optimizer_kind::adam, {}, 1e25F, false},
                         {optimizer_kind::adamw, 1.0, 1e25F, true},
                         {optimizer_kind::adamw, 1.0, infinite, false}}) {
    optimizer_spec spec{.kind = one.kind, .lr = 0.1};
    auto tested = make_optimizer(spec, count);
    std::vector<float> p = noise(0), g = noise(1);
    g[count - 1] = one.worst;
    EXPECT_EQ(tested->apply_clipped(p, g, 0.5, one.clip, spec.lr, 1),
              one.applied)
        << to_string(one.kind) << " " << one.worst;
    EXPECT_EQ(p == noise(0), !one.applied);
    for (const auto& state : tested->state())
      for (float value : state.values)
        ASSERT_TRUE(std::isfinite(value)) << state.name;
  }
}

double rate(const schedule_spec& schedule, uint64_t step, uint64_t total) {
  return learning_rate({.lr = 2}, schedule, step, total);
}

TEST(learning_rate, rises_linearly_during_the_warm_up) {
  schedule_spec s{.kind = schedule_kind::constant, .warmup_steps = 4};
  EXPECT_DOUBLE_EQ(rate(s, 1, 100), 0.5);
  EXPECT_DOUBLE_EQ(rate(s, 4, 100), 2);
  EXPECT_DOUBLE_EQ(rate(s, 5, 100), 2);
  EXPECT_DOUBLE_EQ(rate(s, 100, 100), 2);
}

TEST(learning_rate, falls_by_gamma_every_so_many_steps) {
  schedule_spec s{.kind = schedule_kind::step, .every_steps = 10, .gamma = 0.5};
  EXPECT_DOUBLE_EQ(rate(s, 1, 100), 2);
  EXPECT_DOUBLE_EQ(rate(s, 10, 100), 2);
  EXPECT_DOUBLE_EQ(rate(s, 11, 100), 1);
  EXPECT_DOUBLE_EQ(rate(s, 21, 100), 0.5);
}

TEST(learning_rate, decays_from_lr_to_the_final_ratio) {
  for (const schedule_kind kind :
       {schedule_kind::cosine, schedule_kind::linear}) {
    schedule_spec s{.kind = kind, .warmup_steps = 5, .final_ratio = 0.1};
    EXPECT_DOUBLE_EQ(rate(s, 6, 106), 2) << to_string(kind);
    EXPECT_NEAR(rate(s, 106, 106), 0.2, 1e-12) << to_string(kind);
    EXPECT_NEAR(rate(s, 1000, 106), 0.2, 1e-12) << to_string(kind);
    for (uint64_t step = 7; step <= 106; ++step)
      ASSERT_LT(rate(s, step, 106), rate(s, step - 1, 106)) << to_string(kind);
  }
  EXPECT_NEAR(rate({.kind = schedule_kind::linear}, 51, 101), 1, 1e-12);
  EXPECT_NEAR(rate({.kind = schedule_kind::cosine}, 26, 101),
              2 * 0.8535533905932737, 1e-12);
}

TEST(learning_rate, ends_at_the_final_ratio_where_the_warm_up_leaves_a_step) {
  for (const schedule_kind kind :
       {schedule_kind::cosine, schedule_kind::linear}) {
    schedule_spec s{.kind = kind, .warmup_steps = 9, .final_ratio = 0.1};
    EXPECT_DOUBLE_EQ(rate(s, 9, 10), 2) << to_string(kind);
    EXPECT_NEAR(rate(s, 10, 10), 0.2, 1e-12) << to_string(kind);
  }
}

TEST(learning_rate, survives_runs_shorter_than_the_warm_up) {
  for (const schedule_kind kind :
       {schedule_kind::constant, schedule_kind::step, schedule_kind::cosine,
        schedule_kind::linear}) {
    EXPECT_DOUBLE_EQ(rate({.kind = kind, .warmup_steps = 10}, 5, 5), 1);
    EXPECT_DOUBLE_EQ(rate({.kind = kind}, 1, 1), 2);
  }
}

} // namespace
} // namespace ballast::gpu
