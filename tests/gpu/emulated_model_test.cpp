// The emulated model against its formulas, its time, and its interruption.
#include "gpu/emulated_model.hpp"
#include "runtime/base/errors.hpp"

#include <cmath>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

namespace ballast::gpu {
namespace {

struct bound_model {
  emulated_model model;
  std::vector<float> parameters;
  std::vector<float> gradients;

  explicit bound_model(const model_spec& spec)
      : model(spec), parameters(model.parameter_count()),
        gradients(model.parameter_count()) {
    model.bind(parameters, gradients);
  }
};

model_spec emulated(uint64_t parameters, uint64_t us_per_sample = 0,
                    uint64_t us_per_step = 0) {
  model_spec spec;
  spec.kind = model_kind::emulated;
  spec.parameters = parameters;
  spec.us_per_sample = us_per_sample;
  spec.us_per_step = us_per_step;
  return spec;
}

batch_view rows(const std::vector<uint64_t>& ids) {
  return {.sample_ids = ids.data(), .rows = uint32_t(ids.size())};
}

TEST(emulated_target, lies_in_its_range_and_depends_on_the_id) {
  double sum = 0;
  for (uint64_t id = 0; id < 10'000; ++id) {
    double a = emulated_target(sample_id{id});
    ASSERT_GE(a, -1);
    ASSERT_LT(a, 1);
    sum += a;
  }
  EXPECT_NEAR(sum / 10'000, 0, 0.03);
  EXPECT_NE(emulated_target(sample_id{1}), emulated_target(sample_id{2}));
}

TEST(emulated_model, overwrites_what_the_gradients_hold) {
  bound_model added(emulated(1000));
  bound_model written(emulated(1000));
  std::fill(written.gradients.begin(), written.gradients.end(), 7.0F);
  const std::vector<uint64_t> ids{3, 1, 4};
  size_t ready = 0;
  EXPECT_EQ(added.model.accumulate(rows(ids), 0, nullptr),
            written.model.overwrite(written.gradients, rows(ids), 0,
                                    [&](size_t) { ++ready; }));
  EXPECT_EQ(added.gradients, written.gradients);
  EXPECT_EQ(ready, written.model.parameters().size());
}

TEST(emulated_model, adds_the_gradient_of_the_contract) {
  bound_model m(emulated(1000));
  for (size_t j = 0; j < 1000; ++j)
    m.parameters[j] = float(j) / 1000;
  std::fill(m.gradients.begin(), m.gradients.end(), 1.0F);
  std::vector<uint64_t> ids{3, 1, 4, 159, 26535};
  double sum = 0, loss = 0;
  for (uint64_t id : ids) {
    double a = emulated_target(sample_id{id});
    sum += a;
    loss += (m.parameters[0] - a) * (m.parameters[0] - a) / 2;
  }
  EXPECT_NEAR(m.model.accumulate(rows(ids), 0, {}), loss, 1e-12);
  for (size_t j = 0; j < 1000; ++j) {
    double c = 1 + double(j % 7) / 8;
    ASSERT_NEAR(m.gradients[j], 1 + 5 * double(m.parameters[j]) - c * sum, 1e-5)
        << j;
  }
  EXPECT_NEAR(m.model.evaluate(rows(ids)).loss, loss, 1e-12);
  EXPECT_EQ(m.model.evaluate(rows(ids)).correct, 0);
}

TEST(emulated_model, split_batches_add_up_to_the_whole) {
  std::vector<uint64_t> ids(100);
  std::iota(ids.begin(), ids.end(), 0);
  bound_model whole(emulated(50)), split(emulated(50));
  double loss = whole.model.accumulate(rows(ids), 0, {});
  double loss_of_parts =
      split.model.accumulate(rows({ids.begin(), ids.begin() + 37}), 0, {}) +
      split.model.accumulate(rows({ids.begin() + 37, ids.end()}), 0, {});
  EXPECT_NEAR(loss, loss_of_parts, 1e-9);
  for (size_t j = 0; j < 50; ++j)
    ASSERT_NEAR(whole.gradients[j], split.gradients[j], 1e-5);
}

TEST(emulated_model, reports_each_piece_ready_once_with_its_gradient_done) {
  const size_t count = 2 * emulated_model::piece_max + 5;
  bound_model m(emulated(count));
  const auto& pieces = m.model.parameters();
  ASSERT_EQ(pieces.size(), 3);
  EXPECT_EQ(pieces[0].name, "weight.0000");
  EXPECT_EQ(pieces[2].offset + pieces[2].count, count);
  std::vector<uint64_t> ids{7};
  std::vector<size_t> order;
  m.model.accumulate(rows(ids), 0, [&](size_t i) {
    order.push_back(i);
    EXPECT_NE(m.gradients[pieces[i].offset + pieces[i].count - 1], 0);
  });
  EXPECT_EQ(order, (std::vector<size_t>{2, 1, 0}));
  // c_j counts from the start of the vector, not of the piece.
  size_t j = pieces[1].offset + 1;
  EXPECT_NEAR(m.gradients[j],
              -(1 + double(j % 7) / 8) * emulated_target(sample_id{7}), 1e-6);
}

TEST(emulated_model, takes_the_time_that_the_job_says) {
  bound_model m(emulated(10, 500, 2000));
  std::vector<uint64_t> ids(20);
  auto start = std::chrono::steady_clock::now();
  m.model.accumulate(rows(ids), 0, {});
  auto took = std::chrono::steady_clock::now() - start;
  EXPECT_GE(took, std::chrono::microseconds(2000 + 20 * 500));
}

TEST(emulated_model, an_interrupt_ends_a_step_and_stays_until_resumed) {
  bound_model m(emulated(10, 0, 3'000'000'000)); // most of an hour
  std::vector<uint64_t> ids{1};
  std::thread fence([&] { m.model.interrupt(); });
  EXPECT_TRUE(std::isnan(m.model.accumulate(rows(ids), 0, {})));
  fence.join();
  EXPECT_TRUE(std::isnan(m.model.accumulate(rows(ids), 0, {})));
  bound_model quick(emulated(10));
  quick.model.interrupt();
  EXPECT_TRUE(std::isnan(quick.model.accumulate(rows(ids), 0, {})));
  quick.model.resume();
  EXPECT_FALSE(std::isnan(quick.model.accumulate(rows(ids), 0, {})));
}

TEST(emulated_model, may_have_no_parameters) {
  bound_model m(emulated(0));
  std::vector<uint64_t> ids{1};
  double a = emulated_target(sample_id{1});
  m.model.initialize({});
  EXPECT_DOUBLE_EQ(m.model.accumulate(rows(ids), 0, {}), a * a / 2);
  EXPECT_TRUE(m.model.parameters().empty());
}

TEST(make_model, refuses_zeros_where_nothing_would_learn) {
  auto pointer_of = [](model_kind kind, const char* init) {
    job j;
    j.model.kind = kind;
    j.model.init = init;
    try {
      make_model({.what = &j, .row = {}});
    } catch (const ballast_error& e) {
      EXPECT_EQ(e.what_failed().code, errc::invalid_job);
      return e.what_failed().pointer;
    }
    return std::string("made");
  };
  EXPECT_EQ(pointer_of(model_kind::mlp, "zeros"), "/model/init");
  EXPECT_EQ(pointer_of(model_kind::emulated, "zeros"), "made");
}

} // namespace
} // namespace ballast::gpu
