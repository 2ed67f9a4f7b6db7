// Goal: what a model answers to rows is what its evaluation judges. Method: the
// loss and the number of right answers, computed again of the answers.
#include "tests/gpu/torch/model_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace ballast::gpu {
namespace {

struct answering_model {
  std::string name;
  job what;
  ledger::row_shape row;
  friend void PrintTo(const answering_model& v, std::ostream* out) {
    *out << v.name;
  }
};

std::vector<answering_model> answering_models() {
  std::vector<answering_model> out{
      {"linear_mse", job_of(model_kind::linear, loss_kind::mse), flat(6, 0)},
      {"linear", job_of(model_kind::linear), flat(6, 3)},
      {"logistic_of_two_classes", job_of(model_kind::logistic), flat(6, 2)},
      {"logistic_of_five_classes", job_of(model_kind::logistic), flat(6, 5)},
      {"mlp", job_of(model_kind::mlp), flat(33, 10)},
      {"mlp_mse", job_of(model_kind::mlp, loss_kind::mse), flat(33, 0)},
      {"mlp_bfloat16", job_of(model_kind::mlp), flat(33, 10)},
      {"mlp_bce", job_of(model_kind::mlp, loss_kind::bce), flat(33, 2)},
      {"cnn", job_of(model_kind::cnn), image({28, 28}, 10)},
      {"cnn_batch_norm", job_of(model_kind::cnn), image({14, 14}, 4)},
      {"resnet18", job_of(model_kind::resnet18), image({3, 16, 16}, 4)}};
  for (answering_model& one : out) {
    one.what.model.batch_norm = one.name == "cnn_batch_norm";
    one.what.model.stem = resnet_stem::cifar;
    if (one.name == "mlp_bfloat16")
      one.what.train.precision = compute_precision::bfloat16;
  }
  return out;
}

class answers : public testing::TestWithParam<answering_model> {};

INSTANTIATE_TEST_SUITE_P(torch, answers, testing::ValuesIn(answering_models()),
                         [](const auto& info) { return info.param.name; });

TEST_P(answers, are_what_an_evaluation_judges) {
  model_setup setup(GetParam().what, GetParam().row);
  // More rows than one pass of an evaluation takes.
  const random_rows rows(setup.row, 600);
  const size_t columns = answer_columns(setup.what, setup.row);
  ASSERT_EQ(columns, std::max(1U, setup.row.classes));
  std::vector<float> got(rows.rows * columns);
  const std::vector<float> gradients = setup.gradients;
  batch_view features = rows.view();
  features.labels = nullptr;
  features.targets = nullptr;
  setup.made->answer(features, got);
  EXPECT_EQ(setup.gradients, gradients);
  const evaluation_sums expected = setup.made->evaluate(rows.view());
  double loss = 0, correct = 0;
  for (size_t row = 0; row < rows.rows; ++row) {
    const float* one = got.data() + row * columns;
    if (setup.row.classes == 0) {
      const double off = double(*one) - double(rows.targets[row]);
      loss += off * off;
      continue;
    }
    double sum = 0;
    for (size_t c = 0; c < columns; ++c) {
      EXPECT_GE(one[c], 0);
      sum += double(one[c]);
    }
    EXPECT_NEAR(sum, 1, 1e-6);
    loss -= std::log(double(one[rows.labels[row]]));
    correct += std::max_element(one, one + columns) - one == rows.labels[row];
  }
  EXPECT_NEAR(loss, expected.loss, 2e-5 * expected.loss);
  EXPECT_EQ(correct, expected.correct);
}

TEST(answers_of_a_transformer, are_none) {
  EXPECT_EQ(
      answer_columns(job_of(model_kind::transformer, loss_kind::next_token),
                     tokens(9, 11)),
      0u);
}

} // namespace
} // namespace ballast::gpu
