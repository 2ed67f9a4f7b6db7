// Goal: a row's weight counts in loss and gradient alike, whatever the loss,
// the model and the device; scores are what they say; and drawn rows give the
// gradient of all on average. Method: the same rows one at a time; many draws.
#include "gpu/important_rows.hpp"
#include "gpu/reduction/gradient_pass.hpp"
#include "tests/gpu/guarded_device.hpp"
#include "tests/gpu/torch/model_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <numeric>

namespace ballast::gpu {
namespace {

struct scored_variant {
  std::string name;
  job what;
  ledger::row_shape row;
  friend void PrintTo(const scored_variant& v, std::ostream* out) {
    *out << v.name;
  }
};

std::vector<scored_variant> scored_variants() {
  job weighted = job_of(model_kind::mlp);
  weighted.train.class_weights = {0.5, 2, 1};
  job odds = job_of(model_kind::logistic);
  odds.train.class_weights = {0.5, 2};
  const auto smoothed = [](job what) {
    what.train.label_smoothing = 0.2;
    return what;
  };
  job hinge = job_of(model_kind::mlp, loss_kind::hinge);
  hinge.train.class_weights = {0.5, 2};
  return {
      {"linear_mse", job_of(model_kind::linear, loss_kind::mse), flat(6, 0)},
      {"mlp_mse", job_of(model_kind::mlp, loss_kind::mse), flat(33, 0)},
      {"logistic_of_two_classes", odds, flat(6, 2)},
      {"mlp_weighted", weighted, flat(33, 3)},
      {"mlp_weighted_smoothed", smoothed(weighted), flat(33, 3)},
      {"logistic_weighted_smoothed", smoothed(odds), flat(6, 2)},
      {"mlp_bce", job_of(model_kind::mlp, loss_kind::bce), flat(33, 2)},
      {"mlp_hinge_weighted", hinge, flat(33, 2)},
      {"mlp_huber", job_of(model_kind::mlp, loss_kind::huber), flat(33, 0)},
      {"transformer_smoothed",
       smoothed(job_of(model_kind::transformer, loss_kind::next_token)),
       tokens(9, 11)},
      {"cnn", job_of(model_kind::cnn), image({12, 12}, 5)},
      {"transformer", job_of(model_kind::transformer, loss_kind::next_token),
       tokens(9, 11)},
  };
}

job scored_by(job what, importance_score score) {
  what.train.importance.by = score;
  return what;
}

class scored_model : public testing::TestWithParam<scored_variant> {};

INSTANTIATE_TEST_SUITE_P(torch, scored_model,
                         testing::ValuesIn(scored_variants()),
                         [](const auto& info) { return info.param.name; });

/// Loss sum and gradient of rows, computed where the device is.
struct passed {
  double loss = 0;
  std::vector<float> gradient;
};

/// On the CPU if `device` is null.
passed pass_over(const scored_variant& v, const batch_view& rows,
                 guarded_device* device) {
  passed out;
  if (!device) {
    model_setup m(v.what, v.row);
    out.loss = m.accumulate(rows);
    out.gradient = m.gradients;
    return out;
  }
  const std::unique_ptr<model> made =
      make_model({&v.what, v.row, 1, device->place()});
  const size_t count = made->parameter_count();
  const auto parameters = device->allocate(count);
  const auto gradients = device->allocate(count);
  std::vector<float> values(count);
  made->initialize(values);
  device->upload(parameters.get(), values.data(), count);
  made->bind({parameters.get(), count}, {gradients.get(), count});
  batch_view there = device->bring(0, rows, v.row.features);
  there.weights = rows.weights;
  out.loss = made->accumulate(there, 1, {});
  out.gradient.resize(count);
  device->download(out.gradient.data(), gradients.get(), count);
  return out;
}

void expect_weighted_sum(const scored_variant& v, guarded_device* device) {
  const random_rows rows(v.row, 5);
  const std::vector<float> weights{1, 0, 2.5F, 0.3F, 7};
  passed expected;
  for (uint32_t r = 0; r < rows.rows; ++r) {
    const passed one = pass_over(v, rows.view(r, 1), nullptr);
    expected.loss += double(weights[r]) * one.loss;
    expected.gradient.resize(one.gradient.size());
    for (size_t i = 0; i < one.gradient.size(); ++i)
      expected.gradient[i] += weights[r] * one.gradient[i];
  }
  batch_view all = rows.view();
  all.weights = weights.data();
  const passed got = pass_over(v, all, device);
  EXPECT_NEAR(got.loss, expected.loss, 1e-5 * std::abs(expected.loss));
  double largest = 1e-3;
  for (float g : expected.gradient)
    largest = std::max(largest, std::abs(double(g)));
  for (size_t i = 0; i < got.gradient.size(); ++i)
    ASSERT_NEAR(got.gradient[i], expected.gradient[i], 2e-5 * largest) << i;
}

TEST_P(scored_model, sums_rows_as_often_as_their_weights_say) {
  expect_weighted_sum(GetParam(), nullptr);
}

TEST_P(scored_model, sums_them_so_on_a_device) {
  guarded_device device;
  expect_weighted_sum(GetParam(), &device);
}

TEST_P(scored_model, weights_follow_their_rows_into_micro_batches) {
  const scored_variant& v = GetParam();
  const random_rows rows(v.row, 6);
  const std::vector<float> weights{1, 0.5F, 2, 3, 0.25F, 4};
  batch_view all = rows.view();
  all.weights = weights.data();
  model_setup whole(v.what, v.row), parts(v.what, v.row);
  const double loss = whole.accumulate(all);
  double sum = 0;
  for (uint32_t begin = 0; begin < 6; begin += 2)
    sum += parts.accumulate(all.slice(begin, 2, v.row.features));
  EXPECT_NEAR(sum, loss, 1e-5 * std::abs(loss));
  for (size_t i = 0; i < whole.gradients.size(); ++i)
    ASSERT_NEAR(parts.gradients[i], whole.gradients[i],
                1e-4 * (1 + std::abs(whole.gradients[i])));
}

/// What a training pass and an evaluation write.
std::vector<std::vector<float>> scores_of(const job& what,
                                          const ledger::row_shape& row,
                                          const random_rows& rows) {
  std::vector<std::vector<float>> out(4, std::vector<float>(rows.rows));
  model_setup m(what, row);
  batch_view batch = rows.view();
  batch.scores = out[0].data();
  m.accumulate(batch);
  batch.scores = out[1].data();
  (void)m.made->evaluate(batch);

  guarded_device device;
  const std::unique_ptr<model> there =
      make_model({&what, row, 1, device.place()});
  const size_t count = there->parameter_count();
  const auto parameters = device.allocate(count);
  const auto gradients = device.allocate(count);
  device.upload(parameters.get(), m.parameters.data(), count);
  there->bind({parameters.get(), count}, {gradients.get(), count});
  batch = device.bring(0, rows.view(), row.features);
  batch.scores = out[2].data();
  (void)there->accumulate(batch, 1, {});
  batch.scores = out[3].data();
  (void)there->evaluate(batch);
  return out;
}

TEST_P(scored_model, scores_a_row_by_its_loss) {
  const scored_variant& v = GetParam();
  const random_rows rows(v.row, 5);
  model_setup m(v.what, v.row);
  for (const std::vector<float>& scores :
       scores_of(scored_by(v.what, importance_score::loss), v.row, rows))
    for (uint32_t r = 0; r < rows.rows; ++r) {
      const double loss = m.accumulate(rows.view(r, 1));
      EXPECT_NEAR(scores[r], loss, 1e-5 * (1 + loss)) << r;
    }
}

/// The gradient by the outputs is that by the last bias. (A transformer has
/// none; its rows are sums over positions.)
TEST_P(scored_model, scores_a_row_by_the_norm_of_its_gradient) {
  const scored_variant& v = GetParam();
  const random_rows rows(v.row, 5);
  const auto all = scores_of(scored_by(v.what, importance_score::gradient_norm),
                             v.row, rows);
  model_setup m(v.what, v.row);
  const parameter_info& bias = m.made->parameters().back();
  for (uint32_t r = 0; r < rows.rows; ++r) {
    double squares = 0;
    m.clear();
    m.accumulate(rows.view(r, 1));
    for (size_t i = 0; i < bias.count; ++i)
      squares += std::pow(double(m.gradients[bias.offset + i]), 2);
    const double expected = v.what.model.kind == model_kind::transformer
                                ? double(all[0][r])
                                : std::sqrt(squares);
    EXPECT_GT(expected, 0);
    for (const std::vector<float>& scores : all)
      EXPECT_NEAR(scores[r], expected, 1e-4 * expected) << r;
  }
}

// -- drawn rows ---------------------------------------------------------------

/// A model that has learned most of its rows, with the chooser of its rows.
struct trained {
  model_setup model;
  random_rows rows;
  arenas memory;
  gradient_pass pass;

  explicit trained(const job& what)
      : model(what, flat(8, 3)), rows(model.row, 64), memory(arenas_of(model)),
        pass(what.train, model.row, *model.made, cpu_device(), memory,
             make_bucket_layout(model.made->parameters(), 1 << 20)) {
    for (uint32_t r = 0; r < rows.rows; ++r) { // all but a few are easy
      float* row = rows.features.data() + size_t(r) * rows.width;
      std::fill_n(row, 3, 0.0F);
      row[size_t(r % 16 == 0 ? (rows.labels[r] + 1) % 3 : rows.labels[r])] = 3;
    }
    for (int step = 0; step < 200; ++step) {
      model.clear();
      model.accumulate(rows.view());
      for (size_t i = 0; i < model.parameters.size(); ++i)
        model.parameters[i] -= 0.1F * model.gradients[i] / 64;
    }
  }
  float* gradients() { return model.gradients.data(); }
  important_rows::scorer scorer() {
    return [this](const batch_view& of, std::span<float> scores) {
      pass.score(of, gradients(), scores);
    };
  }
  static arenas arenas_of(model_setup& of) {
    arenas out;
    out.count = of.parameters.size();
    out.parameters = {of.parameters.data(), [](float*) {}};
    return out;
  }
};

job drawn_job(importance_score score) {
  job out = scored_by(job_of(model_kind::mlp), score);
  out.train.importance.when = importance_when::always;
  return out;
}

class drawn_rows : public testing::TestWithParam<importance_score> {};

INSTANTIATE_TEST_SUITE_P(torch, drawn_rows,
                         testing::Values(importance_score::loss,
                                         importance_score::gradient_norm),
                         [](const auto& info) {
                           return to_string(info.param);
                         });

TEST_P(drawn_rows, have_the_gradient_and_the_loss_of_all_rows_on_average) {
  constexpr int estimates = 10'000;
  const job what = drawn_job(GetParam());
  trained t(what);
  t.model.clear();
  const double loss = t.model.accumulate(t.rows.view());
  const std::vector<float> full = t.model.gradients;
  important_rows chosen(what.train.importance, 8, cpu_device(), t.scorer());
  // The loss, and the length along the full gradient; then each parameter.
  const size_t count = full.size();
  std::vector<double> sums(count + 2), squares(count + 2);
  for (int e = 0; e < estimates; ++e) {
    t.model.clear();
    const batch_view drawn = chosen.choose(t.rows.view(), uint64_t(e));
    ASSERT_EQ(drawn.rows, 20u); // 0.3 of 64
    std::vector<double> found{t.model.accumulate(drawn), 0};
    for (size_t i = 0; i < count; ++i) {
      found.push_back(double(t.model.gradients[i]));
      found[1] += double(t.model.gradients[i]) * double(full[i]);
    }
    for (size_t i = 0; i < found.size(); ++i) {
      sums[i] += found[i];
      squares[i] += found[i] * found[i];
    }
  }
  std::vector<double> expected{loss, 0};
  for (float g : full) {
    expected.push_back(double(g));
    expected[1] += double(g) * double(g);
  }
  size_t beyond = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const double mean = sums[i] / estimates;
    const double error = std::sqrt(
        std::max(0.0, squares[i] / estimates - mean * mean) / estimates);
    const bool off = std::abs(mean - expected[i]) >
                     3 * error + 1e-5 * (1 + std::abs(expected[i]));
    EXPECT_TRUE(i >= 2 || !off)
        << i << ": " << mean << " for " << expected[i] << " +- " << error;
    beyond += off;
  }
  EXPECT_LE(beyond, count / 100); // of normal errors 0.3 % are
}

TEST_P(drawn_rows, are_the_same_for_the_same_seed_and_scores) {
  const job what = drawn_job(GetParam());
  trained t(what);
  important_rows chosen(what.train.importance, 8, cpu_device(), t.scorer());
  (void)chosen.choose(t.rows.view(), 7);
  const std::vector<uint64_t> first = chosen.used();
  EXPECT_EQ(first.size(), 20u);
  for (uint64_t id : first)
    EXPECT_EQ(std::ranges::count(t.rows.ids, id), 1);
  (void)chosen.choose(t.rows.view(), 8);
  EXPECT_NE(chosen.used(), first);
  important_rows again(what.train.importance, 8, cpu_device(), t.scorer());
  (void)again.choose(t.rows.view(), 7);
  EXPECT_EQ(again.used(), first);
}

TEST(important_rows, are_all_while_it_is_off_and_where_a_loss_is_not_finite) {
  job what = drawn_job(importance_score::loss);
  trained t(what);
  what.train.importance.when = importance_when::measured;
  important_rows measured(what.train.importance, 8, cpu_device(), t.scorer());
  const batch_view all = measured.choose(t.rows.view(), 1);
  EXPECT_EQ(all.rows, 64u);
  EXPECT_EQ(all.weights, nullptr);
  EXPECT_EQ(measured.used(), std::vector<uint64_t>());

  what.train.importance.when = importance_when::always;
  important_rows always(what.train.importance, 8, cpu_device(), t.scorer());
  EXPECT_EQ(always.choose(t.rows.view(), 1).rows, 20u);
  t.rows.features[3] = std::nanf("");
  EXPECT_EQ(always.choose(t.rows.view(), 1).rows, 64u);
  EXPECT_EQ(always.used(), std::vector<uint64_t>());
  EXPECT_EQ(always.choose(t.rows.view(0, 1), 1).rows, 1u);
}

} // namespace
} // namespace ballast::gpu
