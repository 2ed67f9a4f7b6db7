// The LibTorch models against autograd in double precision on the same
// parameters and rows: loss, every gradient, initial values, statistics.
#include "runtime/job/asked_metrics.hpp"
#include "runtime/metrics/metric_values.hpp"
#include "runtime/metrics/tally.hpp"
#include "tests/gpu/torch/autograd_reference.hpp"
#include "tests/gpu/torch/warm_start_fixture.hpp"

#include <cmath>
#include <future>
#include <gtest/gtest.h>

namespace ballast::gpu {
namespace {

void expect_gradients_of_autograd(model_setup& m, const random_rows& rows) {
  std::vector<Tensor> p;
  for (const parameter_info& info : m.made->parameters())
    p.push_back(in_double(m.parameters.data() + info.offset, info.shape)
                    .requires_grad_(true));
  Tensor loss = reference_loss(m, p, rows.view());
  loss.backward();
  m.clear();
  EXPECT_NEAR(m.accumulate(rows.view()), loss.item<double>(),
              2e-6 * std::abs(loss.item<double>()));
  for (size_t i = 0; i < p.size(); ++i) {
    const parameter_info& info = m.made->parameters()[i];
    Tensor got = in_double(m.gradients.data() + info.offset, info.shape);
    // Before a batch norm a bias has no effect: its gradient is rounding.
    const double floor = m.what.model.batch_norm ? 10 : 1e-3;
    const double scale = p[i].grad().abs().max().item<double>() + floor;
    const double off = (got - p[i].grad()).abs().max().item<double>();
    EXPECT_LT(off, 3e-6 * scale) << info.name << ", largest " << scale;
  }
}

struct variant {
  std::string name;
  job what;
  ledger::row_shape row;
  friend void PrintTo(const variant& v, std::ostream* out) { *out << v.name; }
};

std::vector<variant> variants() {
  std::vector<variant> out{
      {"linear_mse", job_of(model_kind::linear, loss_kind::mse), flat(6, 0)},
      {"linear_mse_of_a_class_number",
       job_of(model_kind::linear, loss_kind::mse), flat(6, 3)},
      {"linear_cross_entropy", job_of(model_kind::linear), flat(6, 3)},
      {"logistic_of_two_classes", job_of(model_kind::logistic), flat(6, 2)},
      {"logistic_of_five_classes", job_of(model_kind::logistic), flat(6, 5)},
      {"mlp", job_of(model_kind::mlp), flat(33, 10)},
      {"mlp_mse", job_of(model_kind::mlp, loss_kind::mse), flat(33, 0)},
      {"mlp_without_hidden_layers", job_of(model_kind::mlp), flat(33, 10)},
      {"mlp_weighted", job_of(model_kind::mlp), flat(33, 3)},
      {"logistic_weighted", job_of(model_kind::logistic), flat(6, 2)},
      {"linear_huber", job_of(model_kind::linear, loss_kind::huber),
       flat(6, 0)},
      {"linear_hinge", job_of(model_kind::linear, loss_kind::hinge),
       flat(6, 2)},
      {"mlp_bce", job_of(model_kind::mlp, loss_kind::bce), flat(33, 2)},
      {"mlp_bce_weighted_smoothed", job_of(model_kind::mlp, loss_kind::bce),
       flat(33, 2)},
      {"mlp_hinge_weighted", job_of(model_kind::mlp, loss_kind::hinge),
       flat(33, 2)},
      {"mlp_huber", job_of(model_kind::mlp, loss_kind::huber), flat(33, 0)},
      {"mlp_smoothed", job_of(model_kind::mlp), flat(33, 10)},
      {"mlp_weighted_smoothed", job_of(model_kind::mlp), flat(33, 3)},
      {"logistic_weighted_smoothed", job_of(model_kind::logistic), flat(6, 2)},
      {"cnn_bce", job_of(model_kind::cnn, loss_kind::bce), image({12, 12}, 2)},
      {"transformer_smoothed",
       job_of(model_kind::transformer, loss_kind::next_token), tokens(9, 11)},
      {"cnn", job_of(model_kind::cnn), image({28, 28}, 10)},
      {"cnn_of_odd_images", job_of(model_kind::cnn), image({1, 13, 16}, 4)},
      {"cnn_of_colour_images", job_of(model_kind::cnn), image({3, 12, 17}, 4)},
      {"cnn_of_many_channels", job_of(model_kind::cnn), image({5, 12, 12}, 4)},
      {"cnn_mse", job_of(model_kind::cnn, loss_kind::mse), image({12, 12}, 0)},
      {"cnn_batch_norm", job_of(model_kind::cnn), image({14, 14}, 4)},
      {"transformer", job_of(model_kind::transformer, loss_kind::next_token),
       tokens(9, 11)},
      {"transformer_of_one_head",
       job_of(model_kind::transformer, loss_kind::next_token), tokens(5, 3)},
  };
  for (variant& v : out) {
    if (v.name == "mlp_without_hidden_layers")
      v.what.model.hidden = {};
    if (v.name.find("weighted") != std::string::npos)
      v.what.train.class_weights = v.row.classes == 2
                                       ? std::vector{0.5, 2.0}
                                       : std::vector{0.5, 2.0, 1.0};
    if (v.name.ends_with("smoothed"))
      v.what.train.label_smoothing = 0.2;
    v.what.train.huber_delta = 0.7;
    if (v.name == "cnn_of_colour_images")
      v.what.model.channels = {6, 16};
    if (v.name == "cnn_of_many_channels")
      v.what.model.channels = {32};
    v.what.model.batch_norm = v.name == "cnn_batch_norm";
    if (v.name == "transformer_of_one_head") {
      v.what.model.heads = 1;
      v.what.model.vocabulary = 7; // more than there are
    }
  }
  job direct = job_of(model_kind::cnn);
  direct.model.channels = {32};
  out.push_back({"cnn_of_colour_images_direct", direct, image({3, 12, 17}, 4)});
  return out;
}

class every_model : public testing::TestWithParam<variant> {
protected:
  model_setup setup_{GetParam().what, GetParam().row};
  random_rows rows_{GetParam().row, 21};
};

INSTANTIATE_TEST_SUITE_P(torch, every_model, testing::ValuesIn(variants()),
                         [](const auto& info) { return info.param.name; });

TEST_P(every_model, has_the_gradients_of_autograd) {
  expect_gradients_of_autograd(setup_, rows_);
}

TEST_P(every_model, has_the_same_gradients_on_two_threads) {
  model_setup two(GetParam().what, GetParam().row, 2);
  expect_gradients_of_autograd(two, rows_);
}

TEST(logistic, of_many_columns_has_the_gradients_of_autograd) {
  // More than one block in every direction of the matrix products; no ReLU,
  // whose kink single and double precision may see on different sides.
  model_setup m(job_of(model_kind::logistic), flat(1100, 70));
  expect_gradients_of_autograd(m, random_rows(m.row, 530));
}

TEST_P(every_model, adds_to_the_gradients_that_are_there) {
  setup_.accumulate(rows_.view());
  std::vector<float> once = setup_.gradients;
  setup_.accumulate(rows_.view());
  for (size_t i = 0; i < once.size(); ++i)
    ASSERT_NEAR(setup_.gradients[i], 2 * once[i],
                1e-5 * (1 + std::abs(once[i])));
}

TEST_P(every_model, overwrites_what_the_gradients_hold) {
  const double loss = setup_.accumulate(rows_.view());
  const std::vector<float> expected = setup_.gradients;
  std::fill(setup_.gradients.begin(), setup_.gradients.end(), 7.0F);
  EXPECT_EQ(setup_.made->overwrite(setup_.gradients, rows_.view(), 1, {}),
            loss);
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(setup_.gradients[i], expected[i],
                1e-5 * std::abs(expected[i]) + 1e-6);
  // And adds again.
  setup_.accumulate(rows_.view());
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_NEAR(setup_.gradients[i], 2 * expected[i],
                1e-5 * std::abs(expected[i]) + 1e-6);
}

TEST_P(every_model, of_split_batches_adds_up_to_that_of_the_whole) {
  if (GetParam().what.model.batch_norm)
    GTEST_SKIP() << "normalises each micro-batch by itself";
  double loss = setup_.accumulate(rows_.view());
  std::vector<float> whole = setup_.gradients;
  setup_.clear();
  double of_parts = setup_.accumulate(rows_.view(0, 1)) +
                    setup_.accumulate(rows_.view(1, 13)) +
                    setup_.accumulate(rows_.view(14, 7));
  EXPECT_NEAR(of_parts, loss, 1e-5 * std::abs(loss));
  float largest = 0;
  for (float g : whole)
    largest = std::max(largest, std::abs(g));
  for (size_t i = 0; i < whole.size(); ++i)
    ASSERT_NEAR(setup_.gradients[i], whole[i], 1e-5F * largest);
}

TEST_P(every_model, calls_ready_once_for_each_gradient_when_it_is_final) {
  const auto& all = setup_.made->parameters();
  std::vector<std::vector<float>> seen(all.size());
  setup_.made->accumulate(rows_.view(), 1, [&](size_t i) {
    EXPECT_TRUE(seen[i].empty()) << "twice: " << all[i].name;
    auto from = setup_.gradients.begin() + long(all[i].offset);
    seen[i].assign(from, from + long(all[i].count));
  });
  for (size_t i = 0; i < all.size(); ++i)
    EXPECT_TRUE(std::equal(seen[i].begin(), seen[i].end(),
                           setup_.gradients.begin() + long(all[i].offset),
                           setup_.gradients.begin() +
                               long(all[i].offset + all[i].count)))
        << all[i].name;
}

TEST_P(every_model, follows_its_arenas_when_they_take_turns) {
  const size_t count = setup_.parameters.size();
  setup_.accumulate(rows_.view());
  const std::vector<float> expected = setup_.gradients;
  std::vector<float> other(count), moved = setup_.parameters;
  for (int turn = 0; turn < 20; ++turn) {
    std::vector<float>& arena = turn % 2 == 0 ? other : setup_.gradients;
    std::fill(arena.begin(), arena.end(), 0.0F);
    setup_.made->bind(turn < 10 ? setup_.parameters : moved, arena);
    setup_.accumulate(rows_.view());
    ASSERT_EQ(arena, expected) << turn;
    if (turn == 10) // only the bound ones are read
      std::fill(setup_.parameters.begin(), setup_.parameters.end(), 9.0F);
  }
  // Many arenas that come and go, as in a process that recovers often.
  std::vector<std::vector<float>> many(20, std::vector<float>(count));
  for (std::vector<float>& arena : many) {
    setup_.made->bind(moved, arena);
    setup_.accumulate(rows_.view());
    ASSERT_EQ(arena, expected);
  }
}

TEST_P(every_model, evaluates_without_any_effect) {
  const auto before = setup_.gradients;
  evaluation_sums sums = setup_.made->evaluate(rows_.view());
  EXPECT_EQ(setup_.gradients, before);
  EXPECT_EQ(sums.rows, 21);
  double part_loss = 0, part_correct = 0;
  for (uint32_t begin = 0; begin < 21; begin += 7) {
    evaluation_sums part = setup_.made->evaluate(rows_.view(begin, 7));
    part_loss += part.loss;
    part_correct += part.correct;
  }
  EXPECT_NEAR(part_loss, sums.loss, 1e-5 * sums.loss);
  EXPECT_EQ(part_correct, sums.correct);
  const double in_training = setup_.accumulate(rows_.view());
  if (GetParam().what.train.label_smoothing > 0) {
    EXPECT_GT(std::abs(in_training - sums.loss), 1e-5 * sums.loss);
    job plain = GetParam().what;
    plain.train.label_smoothing = 0;
    model_setup same(plain, GetParam().row);
    EXPECT_NEAR(same.accumulate(rows_.view()), sums.loss, 1e-5 * sums.loss);
  } else if (!GetParam().what.model.batch_norm) {
    EXPECT_NEAR(in_training, sums.loss, 1e-5 * sums.loss);
  }
}

TEST_P(every_model, tells_a_tally_the_rows_that_it_evaluates) {
  const job& what = GetParam().what;
  const metrics::task task = task_of(what.train.loss);
  if (task == metrics::task::tokens)
    return; // loss and hits say it all
  const auto wanted =
      task == metrics::task::classes
          ? std::vector{metrics::metric::accuracy, metrics::metric::log_loss}
          : std::vector{metrics::metric::rmse};
  metrics::tally tally(std::make_shared<const metrics::layout>(
      metrics::lay_out(task, GetParam().row.classes, wanted, 21)));
  batch_view rows = rows_.view();
  rows.tally = &tally;
  const evaluation_sums sums = setup_.made->evaluate(rows);
  metrics::ordered_part part = tally.take_part();
  metrics::totals all{part.reals, tally.counts(), part.ranked};
  const metrics::metric_values found = metrics::values_of(tally.of(), all);
  if (task == metrics::task::number) {
    if (what.train.loss == loss_kind::mse) {
      EXPECT_NEAR(std::pow(found[0].numbers[0], 2), sums.loss / 21, 1e-5);
    }
    return;
  }
  EXPECT_EQ(found[0].numbers[0], sums.correct / 21);
  if (!has_probabilities(what.train.loss))
    return;
  if (what.train.class_weights.empty()) {
    EXPECT_EQ(sums.weight, 21);
    EXPECT_NEAR(found[1].numbers[0], sums.loss / 21, 1e-5);
  } else {
    EXPECT_NE(sums.weight, 21);
    EXPECT_NE(found[1].numbers[0], sums.loss / sums.weight);
  }
}

TEST_P(every_model, starts_from_the_same_values_for_the_same_seed) {
  model_setup same(GetParam().what, GetParam().row);
  EXPECT_EQ(same.parameters, setup_.parameters);
  job other = GetParam().what;
  other.seed = 8;
  EXPECT_NE(model_setup(other, GetParam().row).parameters, setup_.parameters);
}

TEST(mlp, starts_as_torch_nn_does_after_manual_seed) {
  model_setup m(job_of(model_kind::mlp), flat(33, 10));
  torch::manual_seed(7);
  size_t i = 0;
  for (auto [in, out] : {std::pair{33, 9}, {9, 5}, {5, 10}}) {
    torch::nn::Linear layer(in, out);
    for (const Tensor& expected : {layer->weight, layer->bias}) {
      const parameter_info& p = m.made->parameters()[i++];
      Tensor got = torch::from_blob(m.parameters.data() + p.offset, p.shape);
      EXPECT_TRUE(torch::equal(got, expected)) << p.name;
    }
  }
}

TEST(cnn, starts_as_torch_nn_does_after_manual_seed) {
  model_setup m(job_of(model_kind::cnn), image({3, 12, 12}, 4));
  torch::manual_seed(7);
  torch::nn::Conv2d conv1(torch::nn::Conv2dOptions(3, 16, 3));
  torch::nn::Conv2d conv2(torch::nn::Conv2dOptions(16, 3, 3));
  torch::nn::Linear fc(3, 4);
  size_t i = 0;
  for (const Tensor& expected : {conv1->weight, conv1->bias, conv2->weight,
                                 conv2->bias, fc->weight, fc->bias}) {
    const parameter_info& p = m.made->parameters()[i++];
    EXPECT_TRUE(torch::equal(
        torch::from_blob(m.parameters.data() + p.offset, p.shape), expected))
        << p.name;
  }
}

TEST(linear, names_and_counts_its_correct_answers) {
  model_setup m(job_of(model_kind::linear), flat(2, 2));
  ASSERT_EQ(m.made->parameters()[0].name, "weight");
  ASSERT_EQ(m.made->parameters()[1].name, "bias");
  m.parameters = {1, 0, 0, 1, 0, 0}; // the larger feature wins
  random_rows rows(m.row, 3);
  rows.features = {3, 1, 1, 3, 2, 1};
  rows.labels = {0, 1, 1};
  EXPECT_EQ(m.made->evaluate(rows.view()).correct, 2);
}

TEST(logistic, of_two_classes_has_one_column_and_counts_by_its_sign) {
  model_setup m(job_of(model_kind::logistic), flat(1, 2));
  ASSERT_EQ(m.parameters.size(), 2);
  m.parameters = {1, 0};
  random_rows rows(m.row, 4);
  rows.features = {3, -1, 2, -2};
  rows.labels = {1, 0, 0, 1};
  EXPECT_EQ(m.made->evaluate(rows.view()).correct, 2);
}

TEST(logistic, survives_logits_that_overflow_exp) {
  for (uint32_t classes : {2U, 3U}) {
    model_setup m(job_of(model_kind::logistic), flat(1, classes));
    std::fill(m.parameters.begin(), m.parameters.end(), 0.0F);
    m.parameters[0] = 1000;
    random_rows rows(m.row, 2);
    rows.features = {1, -1};
    rows.labels = {1, 0};
    EXPECT_TRUE(std::isfinite(m.accumulate(rows.view()))) << classes;
    for (float g : m.gradients)
      EXPECT_TRUE(std::isfinite(g)) << classes;
  }
}

TEST(every_kind, lets_a_nan_show_in_the_loss) {
  for (const model_kind kind : {model_kind::mlp, model_kind::cnn}) {
    model_setup m(job_of(kind), image({28, 28}, 10));
    random_rows rows(m.row, 3);
    std::fill(rows.features.begin(), rows.features.end(),
              std::numeric_limits<float>::quiet_NaN());
    EXPECT_TRUE(std::isnan(m.accumulate(rows.view()))) << to_string(kind);
  }
}

TEST(dropout, is_a_function_of_the_step_seed) {
  job j = job_of(model_kind::cnn);
  j.model.dropout = 0.5;
  model_setup m(j, image({28, 28}, 10));
  random_rows rows(m.row, 8);
  auto gradients_with = [&](uint64_t seed) {
    m.clear();
    m.accumulate(rows.view(), seed);
    return m.gradients;
  };
  const auto first = gradients_with(1);
  EXPECT_NE(gradients_with(2), first);
  EXPECT_EQ(gradients_with(1), first);
}

TEST(dropout, of_models_side_by_side_takes_nothing_from_each_other) {
  for (const auto precision :
       {compute_precision::float32, compute_precision::bfloat16}) {
    job j = job_of(model_kind::cnn);
    j.model.dropout = 0.5;
    j.train.precision = precision;
    model_setup alone(j, image({28, 28}, 10));
    const random_rows rows(alone.row, 8);
    alone.accumulate(rows.view(), 7);
    const auto differs = [&] {
      model_setup beside(j, image({28, 28}, 10));
      for (int i = 0; i < 100; ++i) {
        beside.clear();
        beside.accumulate(rows.view(), 7);
        if (beside.gradients != alone.gradients)
          return true;
      }
      return false;
    };
    auto other = std::async(std::launch::async, differs);
    EXPECT_FALSE(differs());
    EXPECT_FALSE(other.get());
  }
}

TEST(dropout, has_the_gradient_of_finite_differences) {
  job j = job_of(model_kind::cnn);
  j.model.dropout = 0.3;
  j.model.batch_norm = true;
  model_setup m(j, image({12, 12}, 3));
  random_rows rows(m.row, 8);
  m.accumulate(rows.view(), 5);
  // Along the gradient the loss changes by its squared length.
  double squared = 0;
  for (float g : m.gradients)
    squared += double(g) * double(g);
  const std::vector<float> at = m.parameters, direction = m.gradients;
  auto loss_at = [&](double distance) {
    for (size_t i = 0; i < at.size(); ++i)
      m.parameters[i] = float(at[i] + distance * direction[i]);
    return m.accumulate(rows.view(), 5);
  };
  const double h = 1e-3 / std::sqrt(squared);
  EXPECT_NEAR((loss_at(h) - loss_at(-h)) / (2 * h) / squared, 1, 0.02);
}

TEST(dropout, is_off_in_an_evaluation) {
  job j = job_of(model_kind::cnn);
  model_setup without(j, image({28, 28}, 10));
  j.model.dropout = 0.9;
  model_setup with(j, image({28, 28}, 10));
  random_rows rows(with.row, 8);
  EXPECT_EQ(with.made->evaluate(rows.view()).loss,
            without.made->evaluate(rows.view()).loss);
}

TEST(batch_norm, moves_its_running_statistics_only_when_applied) {
  job j = job_of(model_kind::cnn);
  j.model.batch_norm = true;
  j.model.channels = {16};
  model_setup m(j, image({12, 12}, 3));
  random_rows rows(m.row, 10);
  ASSERT_EQ(m.made->statistics_count(), 32);
  auto buffers = m.made->buffers();
  ASSERT_EQ(buffers[0].name, "bn1.running_mean");
  ASSERT_EQ(buffers[1].name, "bn1.running_var");
  EXPECT_EQ(buffers[0].values[3], 0);
  EXPECT_EQ(buffers[1].values[3], 1);

  // Two micro-batches, weighted by their rows.
  m.accumulate(rows.view(0, 6));
  m.accumulate(rows.view(6, 4));
  EXPECT_EQ(buffers[0].values[3], 0) << "changed before the step was applied";
  std::vector<float> sums(32);
  m.made->take_statistics(sums);
  std::vector<float> again(32);
  m.made->take_statistics(again);
  EXPECT_EQ(again, std::vector<float>(32)) << "not forgotten";
  m.made->apply_statistics(sums, 10);

  Tensor x =
      torch::conv2d(torch::from_blob(rows.features.data(), {10, 1, 12, 12}),
                    torch::from_blob(m.parameters.data(), {16, 1, 3, 3}),
                    torch::from_blob(m.parameters.data() + 144, {16}));
  Tensor mean = torch::zeros(16), variance = torch::zeros(16);
  for (auto [begin, count] : {std::pair{0, 6}, {6, 4}}) {
    Tensor part = x.slice(0, begin, begin + count);
    mean += part.mean({0, 2, 3}) * count / 10;
    variance += part.transpose(0, 1).flatten(1).var(1) * count / 10;
  }
  for (int64_t c = 0; c < 16; ++c) {
    EXPECT_NEAR(buffers[0].values[size_t(c)], 0.1 * mean[c].item<double>(),
                1e-6);
    EXPECT_NEAR(buffers[1].values[size_t(c)],
                0.9 + 0.1 * variance[c].item<double>(), 1e-6);
  }
}

TEST(batch_norm, evaluates_with_the_running_statistics) {
  job j = job_of(model_kind::cnn);
  j.model.batch_norm = true;
  model_setup m(j, image({12, 12}, 3));
  random_rows rows(m.row, 10);
  const double before = m.made->evaluate(rows.view()).loss;
  m.accumulate(rows.view());
  EXPECT_EQ(m.made->evaluate(rows.view()).loss, before);
  std::vector<float> sums(m.made->statistics_count());
  m.made->take_statistics(sums);
  m.made->apply_statistics(sums, 10);
  EXPECT_NE(m.made->evaluate(rows.view()).loss, before);
}

TEST(batch_norm, accepts_a_take_of_one_row) {
  job j = job_of(model_kind::cnn);
  j.model.batch_norm = true;
  j.model.channels = {16, 3, 3};
  model_setup m(j, image({22, 22}, 3));
  random_rows rows(m.row, 1);
  EXPECT_TRUE(std::isfinite(m.accumulate(rows.view())));
  std::vector<float> sums(m.made->statistics_count());
  m.made->take_statistics(sums);
  for (float s : sums)
    EXPECT_TRUE(std::isfinite(s));
}

TEST(make_model, names_the_field_where_model_and_data_do_not_fit) {
  auto with = [](job j, auto change) {
    change(j);
    return j;
  };
  EXPECT_EQ(pointer_of_refusal(job_of(model_kind::cnn), flat(16, 3)),
            "/model/kind");
  EXPECT_EQ(pointer_of_refusal(job_of(model_kind::cnn), image({7, 7}, 3)),
            "/model/channels/1");
  EXPECT_EQ(pointer_of_refusal(with(job_of(model_kind::cnn),
                                    [](job& j) { j.model.channels = {}; }),
                               image({7, 7}, 3)),
            "/model/channels");
  EXPECT_EQ(pointer_of_refusal(job_of(model_kind::mlp), flat(16, 0)),
            "/train/loss");
  EXPECT_EQ(pointer_of_refusal(job_of(model_kind::logistic, loss_kind::mse),
                               flat(16, 0)),
            "/train/loss");
  auto weights = [](job& j) { j.train.class_weights = {1, 2}; };
  EXPECT_EQ(
      pointer_of_refusal(with(job_of(model_kind::mlp), weights), flat(16, 3)),
      "/train/class_weights");
  EXPECT_EQ(
      pointer_of_refusal(with(job_of(model_kind::mlp, loss_kind::mse), weights),
                         flat(16, 0)),
      "/train/class_weights");
}

TEST(every_kind, names_the_sample_whose_label_is_out_of_range) {
  model_setup m(job_of(model_kind::mlp), flat(3, 2));
  random_rows rows(m.row, 4);
  rows.labels[2] = 2;
  try {
    m.accumulate(rows.view());
    FAIL() << "accepted label 2 of 2 classes";
  } catch (const ballast_error& e) { // thrown on the other side of dlopen
    EXPECT_EQ(e.what_failed().code, errc::invalid_data);
    EXPECT_NE(std::string(e.what()).find("1002"), std::string::npos)
        << e.what();
  }
}

} // namespace
} // namespace ballast::gpu
