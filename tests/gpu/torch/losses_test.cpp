// Goal: each loss and its derivative are PyTorch's, with class weights and
// label smoothing, at its kinks, and far out, where exp overflows. Method:
// layers that pass their features through as outputs, against
// torch.nn.functional in double.
#include "tests/gpu/torch/model_fixture.hpp"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <torch/nn.h>

namespace ballast::gpu {
namespace {

namespace F = torch::nn::functional;
using torch::Tensor;

/// Outputs and wanted values in double: the loss of each row.
using formula = std::function<Tensor(const Tensor&, const Tensor&)>;

struct tried_loss {
  std::string name;
  job what;
  uint32_t classes = 0;
  std::vector<float> outputs; // rows x columns
  std::vector<double> wanted; // labels or targets
  formula of_torch;
  friend void PrintTo(const tried_loss& v, std::ostream* out) {
    *out << v.name;
  }
};

Tensor in_doubles(const std::vector<double>& values) {
  return torch::tensor(values, torch::kDouble);
}

job passing(loss_kind loss, double smoothing = 0,
            std::vector<double> weights = {}) {
  job out = job_of(model_kind::mlp, loss);
  out.model.hidden = {};
  out.train.label_smoothing = smoothing;
  out.train.class_weights = std::move(weights);
  return out;
}

formula cross_entropy(double smoothing, std::vector<double> weights) {
  return [=](const Tensor& out, const Tensor& wanted) {
    auto how = F::CrossEntropyFuncOptions()
                   .reduction(torch::kNone)
                   .label_smoothing(smoothing);
    if (!weights.empty())
      how.weight(in_doubles(weights));
    return F::cross_entropy(out, wanted.to(torch::kLong), how);
  };
}

/// As of two classes with the outputs 0 and f.
formula of_odds(double smoothing, std::vector<double> weights) {
  return [of_two = cross_entropy(smoothing, std::move(weights))](
             const Tensor& out, const Tensor& wanted) {
    return of_two(torch::cat({torch::zeros_like(out), out}, 1), wanted);
  };
}

formula bce(std::vector<double> weights) {
  return [=](const Tensor& out, const Tensor& wanted) {
    auto how =
        F::BinaryCrossEntropyWithLogitsFuncOptions().reduction(torch::kNone);
    if (!weights.empty())
      how.weight(in_doubles(weights).index({wanted.to(torch::kLong)}));
    return F::binary_cross_entropy_with_logits(out.squeeze(1), wanted, how);
  };
}

Tensor hinge(const Tensor& out, const Tensor& wanted) {
  return (1 - (2 * wanted - 1) * out.squeeze(1)).relu();
}

formula huber(double delta) {
  return [=](const Tensor& out, const Tensor& wanted) {
    return F::huber_loss(
        out.squeeze(1), wanted,
        F::HuberLossFuncOptions().reduction(torch::kNone).delta(delta));
  };
}

std::vector<tried_loss> tried_losses() {
  const std::vector<float> odds{0, 0.5F, -0.5F, 3, -7, 1, -1, 90, -90, 90, -90};
  const std::vector<double> labels{0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 0};
  const std::vector<float> three{1, 2, 3, -1, 0, 0.5F, 80, -80, 0, 4, 4, 4};
  const std::vector<double> of_three{2, 0, 1, 1};
  const std::vector<double> weights{0.5, 3};
  job wide = passing(loss_kind::huber);
  wide.train.huber_delta = 2.5;
  return {
      {"bce", passing(loss_kind::bce), 2, odds, labels, bce({})},
      {"bce_weighted", passing(loss_kind::bce, 0, weights), 2, odds, labels,
       bce(weights)},
      {"bce_smoothed", passing(loss_kind::bce, 0.1), 2, odds, labels,
       of_odds(0.1, {})},
      {"bce_weighted_smoothed", passing(loss_kind::bce, 0.3, weights), 2, odds,
       labels, of_odds(0.3, weights)},
      {"cross_entropy", passing(loss_kind::cross_entropy), 3, three, of_three,
       cross_entropy(0, {})},
      {"cross_entropy_smoothed", passing(loss_kind::cross_entropy, 0.1), 3,
       three, of_three, cross_entropy(0.1, {})},
      {"cross_entropy_weighted_smoothed",
       passing(loss_kind::cross_entropy, 0.4, {0, 2, 0.25}), 3, three, of_three,
       cross_entropy(0.4, {0, 2, 0.25})},
      {"hinge", passing(loss_kind::hinge), 2, odds, labels, hinge},
      {"huber",
       passing(loss_kind::huber),
       0,
       {0, 1, -1, 0.5F, 4, -900, 1e30F},
       {0, 0, 0, 0.25, 1, 2, 0},
       huber(1)},
      {"huber_wide", wide, 0, {0, 1, -2.5F, 9}, {0.5, 0, 0, 1}, huber(2.5)},
  };
}

class each_loss : public testing::TestWithParam<tried_loss> {
protected:
  /// Of the layer that passes its features through.
  static model_setup passed_through(const job& what, uint32_t columns,
                                    uint32_t classes) {
    model_setup out(what, flat(columns, classes));
    std::fill(out.parameters.begin(), out.parameters.end(), 0.0F);
    for (size_t i = 0; i < columns; ++i)
      out.parameters[i * columns + i] = 1;
    return out;
  }
};

INSTANTIATE_TEST_SUITE_P(torch, each_loss, testing::ValuesIn(tried_losses()),
                         [](const auto& info) { return info.param.name; });

TEST_P(each_loss, is_that_of_pytorch_row_by_row) {
  const tried_loss& v = GetParam();
  const auto rows = uint32_t(v.wanted.size());
  const auto columns = uint32_t(v.outputs.size() / rows);
  for (const auto precision :
       {compute_precision::float32, compute_precision::bfloat16}) {
    job what = v.what;
    what.train.precision = precision; // by LibTorch's own operations
    model_setup m = passed_through(what, columns, v.classes);
    random_rows some(m.row, rows);
    some.features = v.outputs;
    for (uint32_t r = 0; r < rows; ++r)
      if (v.classes > 0)
        some.labels[r] = int64_t(v.wanted[r]);
      else
        some.targets[r] = float(v.wanted[r]);
    for (uint32_t r = 0; r < rows; ++r) {
      Tensor out = torch::empty({1, int64_t(columns)}, torch::kDouble);
      for (uint32_t c = 0; c < columns; ++c)
        out[0][c] = double(v.outputs[r * columns + c]);
      out.requires_grad_(true);
      Tensor expected = v.of_torch(out, in_doubles({v.wanted[r]})).sum();
      expected.backward();
      m.clear();
      const auto loss = expected.item<double>();
      const double near = precision == compute_precision::float32 ? 2e-6 : 6e-3;
      EXPECT_NEAR(m.accumulate(some.view(r, 1)), loss,
                  near * (std::abs(loss) + 0.1))
          << r;
      for (uint32_t c = 0; c < columns; ++c) { // that of the bias
        const double by_output = out.grad()[0][c].item<double>();
        EXPECT_NEAR(m.gradients[m.gradients.size() - columns + c], by_output,
                    near * (std::abs(by_output) + 0.1))
            << r << " " << c;
      }
    }
  }
}

TEST(bce, is_the_cross_entropy_of_a_logistic_model_of_two_classes) {
  for (const double smoothing : {0.0, 0.2}) {
    job what = job_of(model_kind::logistic);
    what.train.label_smoothing = smoothing;
    what.train.class_weights = {0.5, 2};
    model_setup odds(what, flat(6, 2));
    what.model.kind = model_kind::mlp;
    what.model.hidden = {};
    what.train.loss = loss_kind::bce;
    model_setup of_bce(what, flat(6, 2));
    of_bce.parameters = odds.parameters;
    const random_rows rows(odds.row, 40);
    EXPECT_EQ(of_bce.accumulate(rows.view()), odds.accumulate(rows.view()));
    EXPECT_EQ(of_bce.gradients, odds.gradients);
  }
}

TEST(hinge, answers_with_a_score_and_counts_by_its_sign) {
  job what = job_of(model_kind::linear, loss_kind::hinge);
  model_setup m(what, flat(1, 2));
  m.parameters = {1, 0};
  random_rows rows(m.row, 4);
  rows.features = {3, -1, 0.25F, -2};
  rows.labels = {1, 0, 0, 1};
  const evaluation_sums sums = m.made->evaluate(rows.view());
  EXPECT_EQ(sums.correct, 2);
  EXPECT_EQ(sums.loss, 1.25 + 3);
  ASSERT_EQ(answer_columns(what, m.row), 1U);
  std::vector<float> scores(4);
  m.made->answer(rows.view(), scores);
  EXPECT_EQ(scores, rows.features);
}

TEST(losses_of_two_classes, refuse_labels_with_other_numbers_of_them) {
  const auto refusal = [](loss_kind loss, uint32_t classes) {
    try {
      model_setup(job_of(model_kind::mlp, loss), flat(3, classes));
    } catch (const ballast_error& e) {
      EXPECT_EQ(e.what_failed().code, errc::invalid_job);
      EXPECT_EQ(e.what_failed().pointer, "/train/loss");
      return e.what_failed().message;
    }
    return std::string("taken");
  };
  EXPECT_NE(
      refusal(loss_kind::bce, 3).find("has numbers up to 2: use cross_entropy"),
      std::string::npos);
  EXPECT_NE(refusal(loss_kind::hinge, 0).find("is a number: use mse or huber"),
            std::string::npos);
  EXPECT_EQ(refusal(loss_kind::hinge, 2), "taken");
}

} // namespace
} // namespace ballast::gpu
