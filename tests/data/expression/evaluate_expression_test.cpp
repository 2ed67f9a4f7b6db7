// Goal: expressions compute what SQL would, but for what their header says, and
// the same whatever batches the rows come in. Method: tables of values, and
// random splits.
#include "tests/data/expression/expression_samples.hpp"

#include "data/source/source_error.hpp"
#include "runtime/base/random.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ballast::data {
namespace {

using testing::HasSubstr;

using table = std::pair<const char*, const char*>;

TEST(bound_expression, computes_numbers) {
  const table values[] = {
      {"amount + b * 2", "int64: 5 | null | -13"},
      {"tiny + 1", "int64: -127 | 2 | 128"},
      {"-tiny", "int64: 128 | -1 | -127"},
      {"abs(tiny)", "int64: 128 | 1 | 127"},
      {"amount / b", "double: 0.5 | null | 2.3333333333333335"},
      {"1 / b", "double: 0.5 | inf | -0.3333333333333333"},
      {"0 / 0", "double: nan | nan | nan"},
      {"div(amount, b)", "int64: 0 | null | 2"},
      {"div(amount, 2)", "int64: 0 | null | -3"},
      {"amount % 3", "int64: 1 | null | -1"},
      {"mod(amount, -3)", "int64: 1 | null | -1"},
      {"ratio % 2", "double: 0.5 | null | -0.5"},
      {"ratio % 0.0", "double: nan | null | nan"},
      {"large % 10", "uint64: 5 | 5 | 0"},
      {"power(tiny, 2)", "int64: 16384 | 1 | 16129"},
      {"pow(ratio, 2)", "double: 0.25 | null | 6.25"},
      {"round(ratio)", "double: 1 | null | -3"},
      {"round(amount, -1)", "int64: 0 | null | -10"},
      {"floor(ratio)", "double: 0 | null | -3"},
      {"sqrt(ratio * ratio)", "double: 0.5 | null | 2.5"},
      {"sqrt(9007199254740993 + amount - amount)",
       "double: 94906265.62425156 | null | 94906265.62425156"},
      {"least(amount, b, 0)", "int64: 0 | 0 | -7"},
      {"greatest(amount, ratio)", "double: 1 | null | -2.5"},
      {"price + 1", "decimal128(11, 2): 2.50 | null | -2.25"},
      {"price * amount", "decimal128(31, 2): 1.50 | null | 22.75"},
      {"price - 0.5", "double: 1 | null | -3.75"},
      {"-price", "decimal128(10, 2): -1.50 | null | 3.25"},
      {"divide_checked(price, amount)",
       "decimal128(30, 22): 1.5000000000000000000000 | null | "
       "0.4642857142857142857142"},
      {"amount + null", "int64: null | null | null"},
      {"\"two words\" * 2", "int64: 2 | 4 | 6"},
      {"7", "int64: 7 | 7 | 7"},
  };
  for (const auto& [text, expected] : values)
    EXPECT_EQ(computed(text), expected) << text;
}

TEST(bound_expression, compares_without_losing_digits) {
  const table values[] = {
      {"amount > 0", "bool: true | null | false"},
      {"b = 2.0", "bool: true | false | false"},
      {"b < 2.5", "bool: true | true | true"},
      {"tiny < 1000", "bool: true | true | true"},
      {"large > 18446744073709551614", "bool: true | false | false"},
      {"large = -1", "bool: false | false | false"},
      {"large > amount", "bool: true | null | true"},
      {"amount < 9223372036854775808", "bool: true | null | true"},
      {"9007199254740993 = 9007199254740992", "bool: false | false | false"},
      {"single = 0.1", "bool: true | null | false"},
      {"single < 1e300", "bool: true | null | true"},
      {"price = 1.5", "bool: true | null | false"},
      {"price > 1", "bool: true | null | false"},
      {"price > amount", "bool: true | null | true"},
      {"0 / 0 = 0 / 0", "bool: false | false | false"},
      {"amount between -10 and 0", "bool: false | null | true"},
      {"amount not between -10 and 0", "bool: true | null | false"},
      {"amount in (1, 2.5, -7)", "bool: true | null | true"},
      {"amount not in (1)", "bool: false | null | true"},
      {"b in (3000000000, 2)", "bool: true | false | false"},
      {"large in (18446744073709551615, 5)", "bool: true | true | false"},
      {"price in (1, 1.5)", "bool: true | null | false"},
      {"flag = true", "bool: true | null | false"},
      {"flag != (amount > 0)", "bool: false | null | false"},
  };
  for (const auto& [text, expected] : values)
    EXPECT_EQ(computed(text), expected) << text;
}

TEST(bound_expression, knows_three_truths) {
  const table values[] = {
      {"flag and amount > 0", "bool: true | null | false"},
      {"flag and false", "bool: false | false | false"},
      {"flag or true", "bool: true | true | true"},
      {"flag or null", "bool: true | null | null"},
      {"not flag", "bool: false | null | true"},
      {"flag is null", "bool: false | true | false"},
      {"flag is not null", "bool: true | false | true"},
      {"not flag is null", "bool: true | false | true"},
      {"if(flag, amount, 0)", "int64: 1 | 0 | 0"},
      {"if(amount > 0, 'yes', null)", "string: yes | null | null"},
      {"coalesce(amount, b)", "int64: 1 | 0 | -7"},
      {"coalesce(flag, false)", "bool: true | false | false"},
      {"coalesce(null, city, 'none')", "string: Berlin | none |  r%me"},
  };
  for (const auto& [text, expected] : values)
    EXPECT_EQ(computed(text), expected) << text;
}

TEST(bound_expression, computes_texts) {
  const table values[] = {
      {"lower(city)", "string: berlin | null |  r%me"},
      {"upper(trim(city))", "string: BERLIN | null | R%ME"},
      {"length('gr\xC3\xBC\xC3\x9F')", "int32: 4 | 4 | 4"},
      {"city = 'Berlin'", "bool: true | null | false"},
      {"city < 'C'", "bool: true | null | true"},
      {"lower(city) in ('berlin', 'rome')", "bool: true | null | false"},
      {"city like 'B_r%'", "bool: true | null | false"},
      {"city not like 'B%'", "bool: false | null | true"},
      {"city like '%\\%%'", "bool: false | null | true"},
      {"regex_match(city, '^B.*n$')", "bool: true | null | false"},
      {"starts_with(city, 'Ber')", "bool: true | null | false"},
      {"ends_with(city, 'me')", "bool: false | null | true"},
      {"contains(city, 'r')", "bool: true | null | true"},
      {"code = 'x'", "bool: true | null | false"},
      {"code in ('y')", "bool: false | null | true"},
      {"concat(city, '-', code)", "string: Berlin-x | null |  r%me-y"},
      {"cast(amount as text)", "string: 1 | null | -7"},
      {"utf8_reverse(city)", "string: nilreB | null | em%r "},
  };
  for (const auto& [text, expected] : values)
    EXPECT_EQ(computed(text), expected) << text;
}

TEST(bound_expression, computes_dates_and_times) {
  const table values[] = {
      {"day = date '2026-01-31'", "bool: true | null | false"},
      {"day between date '1970-01-01' and date '2000-01-01'",
       "bool: false | null | true"},
      {"day in (date '1970-01-01')", "bool: false | null | true"},
      {"day < timestamp '2026-01-31 00:00:01'", "bool: true | null | true"},
      {"time >= date '2026-01-31'", "bool: true | null | false"},
      {"time = timestamp '2026-01-31 12:00:00'", "bool: true | null | false"},
      {"zoned = timestamp '2026-01-31 12:00:00'", "bool: true | null | false"},
      {"zoned = timestamp '2026-01-31 13:00:00+01:00'",
       "bool: true | null | false"},
      {"year(day) + month(time)", "int64: 2027 | null | 1982"},
      {"day(day)", "int64: 31 | null | 1"},
      {"hour(time)", "int64: 12 | null | 23"},
      {"time - day", "duration[us]: 43200000000 | null | -500000"},
      {"days_between(day, date '2026-02-28')", "int64: 28 | null | 20512"},
      {"cast(time as date)", "date32[day]: 2026-01-31 | null | 1969-12-31"},
      {"cast(day as timestamp)",
       "timestamp[us]: 2026-01-31 00:00:00.000000 | null | "
       "1970-01-01 00:00:00.000000"},
      {"cast('2026-01-31' as date) = day", "bool: true | null | false"},
      {"cast(day as text)", "string: 2026-01-31 | null | 1970-01-01"},
  };
  for (const auto& [text, expected] : values)
    EXPECT_EQ(computed(text), expected) << text;
}

TEST(bound_expression, refuses_a_row_that_has_no_value) {
  const table errors[] = {
      {"amount + 9223372036854775807",
       "row 1: \"amount + 9223372036854775807\" has no value: an integer "
       "grows beyond its type; compute with cast(... as float64) (overflow)"},
      {"abs(amount - 9223372036854775801)",
       "row 3: \"abs(amount - 9223372036854775801)\" has no value: an integer "
       "grows beyond its type; compute with cast(... as float64) (overflow)"},
      {"large + b",
       "row 1: \"large + b\" has no value: a number is beyond the type that "
       "it is cast to (Integer value 18446744073709551615 not in range: 0 to "
       "9223372036854775807)"},
      {"large - 1", "row 3: \"large - 1\" has no value: an integer grows "
                    "beyond its type; compute with cast(... as float64) "
                    "(overflow)"},
      {"div(amount, b + 3)",
       "row 3: \"div(amount, b + 3)\" has no value: a number is divided by "
       "zero; exclude the row with \"where\", or divide with /, which gives "
       "inf or nan (divide by zero)"},
      {"5 % b", "row 2: \"5 % b\" has no value: a number is divided by zero; "
                "exclude the row with \"where\", or divide with /, which "
                "gives inf or nan (divide by zero)"},
      {"cast(city as int64)",
       "row 1: \"cast(city as int64)\" has no value: a text is not what it is "
       "cast to; exclude the row with \"where\" or correct the text (Failed "
       "to parse string: 'Berlin' as a scalar of type int64)"},
      {"cast(ratio as int64)",
       "row 1: \"cast(ratio as int64)\" has no value: a cast to int64 would "
       "drop a fraction; write cast(round(...) as int64) or cast(trunc(...) "
       "as int64) (Float value 0.500000 was truncated converting to int64)"},
      {"power(2, b)", "row 3: \"power(2, b)\" has no value: a value is not "
                      "allowed here (integers to negative integer powers are "
                      "not allowed)"},
  };
  for (const auto& [text, expected] : errors)
    EXPECT_EQ(row_refusal(text), expected) << text;
}

TEST(bound_expression, names_a_row_as_its_source_does_and_quotes_it_apart) {
  const auto bound = parse("cast(city as int64)", "/x").bind(sample_schema());
  try {
    bound.evaluate(*sample_rows()->Slice(1), [](int64_t row) {
      return "people.csv: row " + std::to_string(row + 100);
    });
    FAIL();
  } catch (const source_error& error) {
    EXPECT_EQ(error.what_failed().code, errc::invalid_data);
    EXPECT_EQ(error.what_failed().message,
              "people.csv: row 101: \"cast(city as int64)\" has no value: a "
              "text is not what it is cast to; exclude the row with \"where\" "
              "or correct the text");
    EXPECT_THAT(error.detail(), HasSubstr("' r%me'"));
  }
}

TEST(bound_expression, selects_rows_and_tells_which) {
  const auto rows = sample_rows();
  const auto chosen = [&](const std::string& text) {
    const selected_rows out =
        parse(text, "").bind_condition(sample_schema()).select(rows);
    EXPECT_EQ(out.batch->num_rows(), int64_t(out.rows.size()));
    for (size_t i = 0; i < out.rows.size(); ++i)
      EXPECT_TRUE(out.batch->Slice(int64_t(i), 1)
                      ->Equals(*rows->Slice(out.rows[i], 1)));
    return out.rows;
  };
  using numbers = std::vector<int64_t>;
  EXPECT_EQ(chosen("flag"), numbers{0});
  EXPECT_EQ(chosen("not flag"), numbers{2});
  EXPECT_EQ(chosen("flag is null"), numbers{1});
  EXPECT_EQ(chosen("b != 0"), (numbers{0, 2}));
  EXPECT_EQ(chosen("true"), (numbers{0, 1, 2}));
  EXPECT_EQ(chosen("flag = flag and city is null"), numbers{});
  const auto all = parse("true", "").bind_condition(sample_schema());
  EXPECT_EQ(all.select(rows).batch, rows); // no copy
  EXPECT_EQ(all.select(rows->Slice(0, 0)).rows, numbers{});
}

std::shared_ptr<arrow::RecordBatch> many_rows(int64_t count) {
  const auto all = arrow::Table::FromRecordBatches(
      std::vector(size_t(count), sample_rows()));
  return (*all)->CombineChunksToBatch().ValueOrDie();
}

TEST(bound_expression, computes_the_same_in_any_batches) {
  const auto rows = many_rows(300);
  const counter_random random(17, 0);
  uint64_t drawn = 0;
  for (const char* text :
       {"amount + b * 2", "amount / b", "flag or amount > 0 and city is null",
        "lower(city) in ('berlin', 'rome')", "concat(upper(city), code)",
        "if(flag, ratio, price)", "coalesce(city, 'none') like '%n%'",
        "time - day", "large > amount", "year(zoned)", "round(single, 1)", "7",
        "null"}) {
    const auto bound = parse(text, "").bind(sample_schema());
    const auto whole = bound.evaluate(*rows);
    for (int round = 0; round < 5; ++round) {
      arrow::ArrayVector parts;
      for (int64_t from = 0; from < rows->num_rows();) {
        const auto count = int64_t(random.below(round < 2 ? 3 : 200, drawn++));
        parts.push_back(bound.evaluate(*rows->Slice(from, count)));
        from += count;
      }
      EXPECT_TRUE(arrow::ChunkedArray(parts).Equals(
          arrow::ChunkedArray(arrow::ArrayVector{whole}),
          arrow::EqualOptions::Defaults().nans_equal(true)))
          << text;
    }
  }
}

TEST(bound_expression, finds_the_first_bad_row_of_many) {
  const auto rows = many_rows(1000);
  const auto bound =
      parse("div(b, if(\"two words\" = 3 and b < 0, 0, 1))", "/data/where")
          .bind(sample_schema());
  for (const int64_t from : {0, 1, 2, 3, 1700})
    EXPECT_THAT(
        refusal([&] { bound.evaluate(*rows->Slice(from)); }),
        testing::StartsWith("row " + std::to_string(3 - from % 3) + ": "));
}

TEST(bound_expression, computes_long_conditions) {
  std::string any = "amount = 0";
  for (int i = 1; i < 3'000; ++i)
    any += " or amount = " + std::to_string(i);
  EXPECT_EQ(computed(any), "bool: true | null | false");
  std::string sum = "b";
  for (int i = 1; i < 500; ++i)
    sum += " + b";
  EXPECT_EQ(computed(sum), "int64: 1000 | 0 | -1500");
  EXPECT_EQ(computed(std::string(100, '(') + "b" + std::string(100, ')')),
            "int32: 2 | 0 | -3");
}

} // namespace
} // namespace ballast::data
