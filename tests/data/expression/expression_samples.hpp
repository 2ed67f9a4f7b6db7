// What the tests of expressions share: some rows of every common type, what an
// expression computes of them as text, and how an expression is refused.
#pragma once

#include "data/expression/expression.hpp"
#include "runtime/base/errors.hpp"

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>
#include <string>
#include <utility>

namespace ballast::data {

inline std::shared_ptr<arrow::Schema> sample_schema() {
  using arrow::field;
  return arrow::schema(
      {field("amount", arrow::int64()), field("b", arrow::int32()),
       field("tiny", arrow::int8()), field("large", arrow::uint64()),
       field("ratio", arrow::float64()), field("single", arrow::float32()),
       field("city", arrow::utf8()), field("flag", arrow::boolean()),
       field("day", arrow::date32()),
       field("time", arrow::timestamp(arrow::TimeUnit::MICRO)),
       field("zoned", arrow::timestamp(arrow::TimeUnit::NANO, "Asia/Tokyo")),
       field("code", arrow::dictionary(arrow::int32(), arrow::utf8())),
       field("price", arrow::decimal128(10, 2)),
       field("two words", arrow::int64())});
}

inline std::shared_ptr<arrow::RecordBatch> sample_rows() {
  const auto rows = arrow::json::ArrayFromJSONString(
      arrow::struct_(sample_schema()->fields()), R"([
    {"amount": 1, "b": 2, "tiny": -128, "large": 18446744073709551615,
     "ratio": 0.5, "single": 0.1, "city": "Berlin", "flag": true,
     "day": 20484, "time": "2026-01-31 12:00:00",
     "zoned": "2026-01-31 12:00:00", "code": "x", "price": "1.50",
     "two words": 1},
    {"amount": null, "b": 0, "tiny": 1, "large": 5, "ratio": null,
     "single": null, "city": null, "flag": null, "day": null, "time": null,
     "zoned": null, "code": null, "price": null, "two words": 2},
    {"amount": -7, "b": -3, "tiny": 127, "large": 0, "ratio": -2.5,
     "single": 2, "city": " r%me", "flag": false, "day": 0,
     "time": "1969-12-31 23:59:59.5", "zoned": "2020-07-01 00:00:00",
     "code": "y", "price": "-3.25", "two words": 3}])");
  return arrow::RecordBatch::FromStructArray(rows.ValueOrDie()).ValueOrDie();
}

/// "1 | null | -7"
inline std::string text_of(const arrow::Array& values) {
  std::string out;
  for (int64_t row = 0; row < values.length(); ++row)
    out +=
        (row > 0 ? " | " : "") + values.GetScalar(row).ValueOrDie()->ToString();
  return out;
}

/// The type and the values of the sample rows: "int64: 1 | null | -7".
inline std::string computed(const std::string& text) {
  const bound_expression bound =
      parse(text, "/data/where").bind(sample_schema());
  const auto values = bound.evaluate(*sample_rows());
  EXPECT_TRUE(values->ValidateFull().ok()) << text;
  EXPECT_TRUE(values->type()->Equals(bound.type())) << text;
  return bound.type()->ToString() + ": " + text_of(*values);
}

/// The error; "" if there is none.
template <class Action>
std::string refusal(Action action) {
  try {
    action();
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().pointer, "/data/where");
    return error.what();
  }
  return "";
}

inline std::string bind_refusal(const std::string& text) {
  return refusal([&] { parse(text, "/data/where").bind(sample_schema()); });
}

inline std::string row_refusal(const std::string& text) {
  const bound_expression bound =
      parse(text, "/data/where").bind(sample_schema());
  return refusal([&] { bound.evaluate(*sample_rows()); });
}

} // namespace ballast::data
