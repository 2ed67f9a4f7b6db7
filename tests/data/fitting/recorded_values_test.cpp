// Goal: operators give the numbers that others give where the definition is the
// same. Method: values recorded from numpy and scipy, by the formulas that
// scikit-learn documents; lambdas are as exact as the search for them.
#include "tests/data/fitting/fitting_tester.hpp"

#include <cmath>

namespace ballast::data {
namespace {

using nlohmann::json;

rows_pointer recorded(const std::vector<double>& values) {
  arrow::DoubleBuilder builder;
  EXPECT_TRUE(builder.AppendValues(values).ok());
  return with_origin(arrow::RecordBatch::Make(
      arrow::schema({arrow::field("x", arrow::float64())}),
      int64_t(values.size()), {builder.Finish().ValueOrDie()}));
}

const std::vector<double> training{0.5, 1.25, 2, 2, 3.5, 8, 13.75, 40};

void expect_recorded(json node, const std::vector<double>& expected,
                     double error = 1e-12) {
  node["columns"] = {"x"};
  fitted one(node, recorded(training));
  const std::vector<double> found =
      column_of(*one.rows(recorded({0.5, 2, 5, 41})), "x");
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], error * (1 + std::abs(expected[i])))
        << node;
}

TEST(recorded_values, of_scales) {
  expect_recorded({{"op", "standardize"}},
                  {-0.6713440334470694, -0.5511033110386391,
                   -0.3106218662217784, 2.57515547158055});
  expect_recorded(
      {{"op", "min_max"}},
      {0, 0.0379746835443038, 0.11392405063291139, 1.0253164556962024});
  expect_recorded({{"op", "robust"}},
                  {-0.29508196721311475, -0.09836065573770492,
                   0.29508196721311475, 5.016393442622951});
}

TEST(recorded_values, of_powers) {
  expect_recorded({{"op", "power"}},
                  {-1.5503746003232652, -0.4861897747785484, 0.3153937525288647,
                   1.6578623336109068},
                  1e-6);
  expect_recorded({{"op", "power"}, {"method", "box_cox"}},
                  {-1.6778864007570797, -0.4174655397591575, 0.3020701384473178,
                   1.669999498693445},
                  1e-6);
}

TEST(recorded_values, of_quantiles) {
  expect_recorded({{"op", "quantile"}, {"quantiles", 5}},
                  {0, 0.3, 0.5841121495327103, 1});
  expect_recorded({{"op", "quantile"}, {"quantiles", 5}, {"output", "normal"}},
                  {-5.199337582605575, -0.5244005127080409, 0.21242472142584182,
                   5.199337582605575},
                  1e-10); // its ends hang on how near to 1 a number comes
  fitted limits(
      {{"op", "clip_outliers"}, {"columns", {"x"}}, {"method", "mad"}},
      recorded(training));
  EXPECT_NEAR(limits.state->columns[0].numbers.at("low")[0], -6.9795625, 1e-12);
  EXPECT_NEAR(limits.state->columns[0].numbers.at("high")[0], 12.4795625,
              1e-12);
}

TEST(recorded_values, of_several_columns) {
  std::string rows;
  for (size_t i = 0; i < training.size(); ++i) {
    const json one{{"a", training[i]},
                   {"b", std::sqrt(training[training.size() - 1 - i])},
                   {"c", double(i % 3)},
                   {"y", std::vector<double>{0, 0, 0, 1, 1, 0, 1, 1}[i]},
                   {"k", i == 3 || i == 4 || i > 5 ? "yes" : "no"}};
    rows += (i == 0 ? "" : ",") + one.dump();
  }
  arrow::FieldVector fields;
  for (const char* name : {"a", "b", "c", "y"})
    fields.push_back(arrow::field(name, arrow::float64()));
  fields.push_back(arrow::field("k", arrow::utf8()));
  const auto table = rows_of(fields, "[" + rows + "]");
  const std::vector<std::string> columns{"a", "b", "c"};

  fitted pca({{"op", "pca"}, {"columns", columns}, {"components", 3}}, table);
  const std::vector<double> variance{178.90613822756944, 2.45310212042269,
                                     0.6265316517146204};
  for (size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(pca.state->numbers.at("variance")[i] / variance[i], 1, 1e-12);
  const std::vector<double> first = column_of(*pca.rows(table), "pca_1");
  EXPECT_NEAR(first[0], -8.652690478437728, 1e-11);
  EXPECT_NEAR(first[7], 31.164892966319393, 1e-11);

  const auto scores = [&](const char* method, const char* target) {
    fitted one({{"op", "select_features"},
                {"columns", columns},
                {"method", method},
                {"target", target}},
               table);
    std::vector<double> out;
    for (size_t i = 0; i < 3; ++i)
      out.push_back(one.state->columns[i].numbers.at("score")[0]);
    return out;
  };
  using testing::DoubleNear;
  using testing::ElementsAre;
  EXPECT_THAT(scores("chi2", "k"),
              ElementsAre(DoubleNear(31.778169014084508, 1e-12),
                          DoubleNear(4.333103413983768, 1e-12),
                          DoubleNear(1.2857142857142858, 1e-12)));
  EXPECT_THAT(scores("correlation", "y"),
              ElementsAre(DoubleNear(0.4759528595333701, 1e-12),
                          DoubleNear(0.6610852145206185, 1e-12),
                          DoubleNear(0.48038446141526137, 1e-12)));
}

} // namespace
} // namespace ballast::data
