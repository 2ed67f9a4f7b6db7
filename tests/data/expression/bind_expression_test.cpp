// Goal: types are checked before a row is read; an error names the operand, its
// type, and what to write instead. Method: tables.
#include "tests/data/expression/expression_samples.hpp"

#include "data/source/source_error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ballast::data {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string type_of(const std::string& text) {
  return parse(text, "/data/where").bind(sample_schema()).type()->ToString();
}

/// The first line.
std::string head(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

TEST(bound_expression, knows_its_type_without_data) {
  const std::pair<const char*, const char*> types[] = {
      {"amount", "int64"},
      {"b", "int32"},
      {"b + 1", "int64"},
      {"tiny * tiny", "int64"},
      {"large + 1", "uint64"},
      {"large + b", "int64"},
      {"large - 1", "uint64"},
      {"amount / b", "double"},
      {"amount % 2", "int64"},
      {"div(amount, 2)", "int64"},
      {"single + 1", "double"},
      {"price + 1", "decimal128(11, 2)"},
      {"price / 2", "double"},
      {"price * 0.5", "double"},
      {"-tiny", "int64"},
      {"abs(tiny)", "int64"},
      {"city", "string"},
      {"code", "string"},
      {"length(city)", "int32"},
      {"day", "date32[day]"},
      {"year(day)", "int64"},
      {"time - time", "duration[us]"},
      {"cast(day as timestamp)", "timestamp[us]"},
      {"cast(amount as text)", "string"},
      {"coalesce(amount, 0.5)", "double"},
      {"coalesce(b, 0)", "int32"},
      {"if(flag, 'a', null)", "string"},
      {"null", "null"},
      {"amount > 0 and flag", "bool"},
      {"amount in (1, 2)", "bool"},
  };
  for (const auto& [text, expected] : types)
    EXPECT_EQ(type_of(text), expected) << text;
}

TEST(bound_expression, names_the_nearest_column_and_lists_them) {
  const std::string list =
      "the columns are 'amount', 'b', 'tiny', 'large', 'ratio', 'single', "
      "'city', 'flag', 'day', 'time', 'zoned', 'code', ... (14 in all))";
  EXPECT_EQ(bind_refusal("1 < amout"),
            "column 5: the data have no column 'amout' (nearest is 'amount'; " +
                list);
  EXPECT_THAT(bind_refusal("CITY = 'x'"), HasSubstr("nearest is 'city'"));
  EXPECT_EQ(bind_refusal("city = \"Berlin\""),
            "column 8: the data have no column 'Berlin'; texts are in single "
            "quotes: 'Berlin' (" +
                list);
  try {
    parse("amout", "/x").bind(sample_schema());
    FAIL();
  } catch (const source_error& error) {
    EXPECT_EQ(error.what_failed().code, errc::invalid_data);
    EXPECT_EQ(error.what_failed().message,
              "column 1: the data have no column 'amout'");
  }
}

TEST(bound_expression, refuses_a_name_that_two_columns_have) {
  const auto schema = arrow::schema({arrow::field("a", arrow::int64()),
                                     arrow::field("a", arrow::utf8()),
                                     arrow::field("b", arrow::int64())});
  EXPECT_EQ(refusal([&] { parse("b > a", "/data/where").bind(schema); }),
            "column 5: the data have two columns named 'a'; rename one\n"
            "  b > a\n      ^");
  EXPECT_EQ(refusal([&] { parse("b > 1", "/data/where").bind(schema); }), "");
}

TEST(bound_expression, compares_no_apples_with_pears) {
  const std::pair<const char*, const char*> errors[] = {
      {"city = 5", "column 6: \"=\" needs values of one type, found city "
                   "(text) and 5 (int64); write '5' to compare texts, or "
                   "cast(city as int64)"},
      {"0.5 < city", "column 5: \"<\" needs values of one type, found 0.5 "
                     "(float64) and city (text); write '0.5' to compare "
                     "texts, or cast(city as float64)"},
      {"city > amount", "column 6: \">\" needs values of one type, found city "
                        "(text) and amount (int64); write cast(city as "
                        "int64)"},
      {"flag = 1", "column 6: \"=\" needs values of one type, found flag "
                   "(bool) and 1 (int64); write flag or not flag, or "
                   "cast(flag as int64)"},
      {"flag = 'true'", "column 6: \"=\" needs values of one type, found flag "
                        "(bool) and 'true' (text); write cast('true' as "
                        "bool)"},
      {"day > '2026-01-01'",
       "column 5: \">\" needs values of one type, found day (date) and "
       "'2026-01-01' (text); write date '2026-01-01'"},
      {"time > '2026-01-01'",
       "column 6: \">\" needs values of one type, found time (timestamp[us]) "
       "and '2026-01-01' (text); write timestamp '2026-01-01'"},
      {"city = day", "column 6: \"=\" needs values of one type, found city "
                     "(text) and day (date); write cast(city as date)"},
      {"day = 5", "column 5: \"=\" needs values of one type, found day (date) "
                  "and 5 (int64)"},
      {"zoned > time",
       "column 7: \">\" needs values of one type, found zoned (timestamp[ns, "
       "tz=Asia/Tokyo]) and time (timestamp[us]); one has a time zone, the "
       "other has none"},
      {"time > timestamp '2026-01-01Z'",
       "column 6: \">\" needs values of one type, found time (timestamp[us]) "
       "and timestamp '2026-01-01 00:00:00Z' (timestamp[us, tz=UTC]); one has "
       "a time zone, the other has none; write the timestamp without a zone"},
      {"amount = null", "column 8: a comparison with null is never true; "
                        "write amount is null"},
      {"null < b", "column 6: a comparison with null is never true; write b "
                   "is null"},
      {"flag < true", "column 6: \"<\" has no meaning for flag (bool) and "
                      "true (bool); only = and != compare bools"},
      {"city in ('a', 5)", "column 15: \"in\" needs values of one type, found "
                           "city (text) and 5 (int64); write '5' to compare "
                           "texts, or cast(city as int64)"},
      {"amount between 1 and 'x'",
       "column 8: \"<=\" needs values of one type, found amount (int64) and "
       "'x' (text); write cast('x' as int64)"},
      {"amount like '1%'", "column 8: \"like\" needs a text, found amount "
                           "(int64); write cast(amount as text)"},
      {"zoned = timestamp '9999-01-01'",
       "column 19: timestamp '9999-01-01 00:00:00' (timestamp[us]) cannot "
       "become timestamp[ns, tz=Asia/Tokyo]: Casting from timestamp[us] to "
       "timestamp[ns, tz=Asia/Tokyo] would result in out of bounds timestamp: "
       "253370764800000000"},
  };
  for (const auto& [text, expected] : errors)
    EXPECT_EQ(head(bind_refusal(text)), expected);
  EXPECT_EQ(bind_refusal("flag and\n  city = 5"),
            "line 2, column 8: \"=\" needs values of one type, found city "
            "(text) and 5 (int64); write '5' to compare texts, or cast(city "
            "as int64)\n    city = 5\n         ^");
}

TEST(bound_expression, needs_bools_where_it_joins_and_numbers_where_it_counts) {
  const std::pair<const char*, const char*> errors[] = {
      {"amount and flag",
       "column 1: \"and\" needs a bool, found amount (int64); write amount != "
       "0"},
      {"flag or city", "column 9: \"or\" needs a bool, found city (text)"},
      {"not ratio", "column 1: \"not\" needs a bool, found ratio (float64); "
                    "write ratio != 0"},
      {"city + 'x'", "column 6: \"+\" needs numbers, found city (text); write "
                     "cast(city as float64), or concat(a, b) to join texts"},
      {"ratio * flag", "column 7: \"*\" needs numbers, found flag (bool); "
                       "write cast(flag as int64)"},
      {"day + 1", "column 5: \"+\" needs numbers, found day (date)"},
      {"day / 2", "column 5: \"/\" needs numbers, found day (date)"},
      {"-city", "column 1: \"-\" needs a number, found city (text); write "
                "cast(city as float64), or concat(a, b) to join texts"},
      {"div(ratio, 2)", "column 1: \"div\" divides integers, found ratio "
                        "(float64); write a / b"},
      {"abs(city)", "column 1: \"abs\" needs numbers, found city (text)"},
      {"time + time", "column 6: \"+\" has no form for time (timestamp[us]), "
                      "time (timestamp[us]); cast(... as int64, float64, "
                      "text, date, timestamp or bool) changes a type"},
  };
  for (const auto& [text, expected] : errors)
    EXPECT_EQ(head(bind_refusal(text)), expected);
}

TEST(bound_expression, explains_what_a_function_takes) {
  const std::pair<const char*, const char*> errors[] = {
      {"lowr(city)",
       "column 1: there is no function \"lowr\"; did you mean \"lower\"?"},
      {"utf8_lowr(city)", "column 1: there is no function \"utf8_lowr\"; did "
                          "you mean \"utf8_lower\"?"},
      {"quite_another(city)",
       "column 1: there is no function \"quite_another\"; there are lower, "
       "upper, length, abs, round, coalesce, if, cast, year and the scalar "
       "functions of Apache Arrow"},
      {"lower(amount)", "column 1: \"lower\" needs a text, found amount "
                        "(int64); write cast(amount as text)"},
      {"lower()", "column 1: \"lower\" takes 1 argument, found 0; write "
                  "lower(text)"},
      {"round(ratio, 1, 2)", "column 1: \"round\" takes 1 or 2 arguments, "
                             "found 3; write round(number[, digits])"},
      {"coalesce()", "column 1: \"coalesce\" takes at least 1 argument, found "
                     "0; write coalesce(a, ...)"},
      {"if(flag, 1)", "column 1: \"if\" takes 3 arguments, found 2; write "
                      "if(condition, a, b)"},
      {"atan2(ratio)",
       "column 1: \"atan2\" takes 2 arguments, found 1; write atan2(y, x)"},
      {"round(ratio, b)", "column 14: \"round\" needs an integer from -18 to "
                          "18 as its second argument, found b (int32)"},
      {"round(ratio, 99)", "column 14: \"round\" needs an integer from -18 to "
                           "18 as its second argument, found 99 (int64)"},
      {"contains(city, code)",
       "column 16: \"contains\" needs a text in single quotes as its second "
       "argument, found code (text)"},
      {"regex_match(city, '(')",
       "column 19: not a valid pattern (RE2): Invalid regular expression: "
       "missing ): ("},
      {"if(amount, 1, 2)", "column 4: the condition of \"if\" needs a bool, "
                           "found amount (int64); write amount != 0"},
      {"if(flag, 1, city)", "column 1: \"if\" needs values of one type, found "
                            "1 (int64) and city (text); write '1' to compare "
                            "texts, or cast(city as int64)"},
      {"coalesce(amount, ratio, city)",
       "column 1: \"coalesce\" needs values of one type, found amount "
       "(int64), ratio (float64) and city (text); write cast(city as int64)"},
      {"year(city)", "column 1: \"year\" has no form for city (text); it "
                     "takes a timestamp: cast(... as timestamp)"},
      {"hour(day)", "column 1: \"hour\" has no form for day (date); it takes "
                    "a timestamp: cast(... as timestamp)"},
      {"sqrt(city)", "column 1: \"sqrt\" has no form for city (text); "
                     "cast(... as int64, float64, text, date, timestamp or "
                     "bool) changes a type"},
      {"sum(amount)", "column 1: \"sum\" looks at many rows at a time; an "
                      "expression sees one row"},
      {"rank(amount)", "column 1: \"rank\" looks at many rows at a time; an "
                       "expression sees one row"},
      {"random()", "column 1: \"random\" has another result each time; a run "
                   "must be able to compute its rows again"},
      {"strptime(city)", "column 1: \"strptime\" needs options "
                         "(StrptimeOptions), which an expression cannot "
                         "write"},
      {"choose(b, 1, 2)",
       "column 1: \"choose\" is left out; write if(a, b, c)"},
      {"binary_repeat(city, 9)", "column 1: \"binary_repeat\" makes texts of "
                                 "any length; it is left out"},
  };
  for (const auto& [text, expected] : errors)
    EXPECT_EQ(head(bind_refusal(text)), expected);
}

TEST(bound_expression, casts_only_what_has_one_meaning) {
  const std::pair<const char*, const char*> errors[] = {
      {"cast(amount as date)",
       "column 1: no cast of amount (int64) to date, because a number may "
       "count days, seconds or less; year(), month(), days_between() and "
       "seconds_between() make numbers of times"},
      {"cast(time as int64)",
       "column 1: no cast of time (timestamp[us]) to int64, because a number "
       "may count days, seconds or less; year(), month(), days_between() and "
       "seconds_between() make numbers of times"},
      {"cast(flag as date)", "column 6: flag (bool) cannot become date: no "
                             "cast from bool to date32[day]"},
  };
  for (const auto& [text, expected] : errors)
    EXPECT_EQ(head(bind_refusal(text)), expected);
}

TEST(bound_expression, computes_constants_before_any_row) {
  EXPECT_EQ(bind_refusal("amount + div(1, 0)"),
            "\"amount + div(1, 0)\" has no value for any row: a number is "
            "divided by zero; exclude the row with \"where\", or divide with "
            "/, which gives inf or nan (divide by zero)");
  EXPECT_THAT(bind_refusal("9223372036854775807 + 1 > amount"),
              HasSubstr("an integer grows beyond its type"));
  EXPECT_THAT(bind_refusal("cast('x' as int64) > 1"),
              HasSubstr("cannot become int64: Failed to parse string: 'x'"));
}

TEST(bound_expression, is_a_condition_only_if_it_is_true_or_false) {
  const auto where = [](const std::string& text) {
    return refusal(
        [&] { parse(text, "/data/where").bind_condition(sample_schema()); });
  };
  EXPECT_EQ(where("flag"), "");
  EXPECT_EQ(where("amount + 1"),
            "a condition is true or false, and \"amount + 1\" is int64; "
            "compare it with a value, as in amount > 0");
  EXPECT_THAT(where("city"), HasSubstr("\"city\" is text"));
  EXPECT_THAT(where("null"), HasSubstr("\"null\" is null"));
  const auto bound = parse("ratio", "/data/where").bind(sample_schema());
  EXPECT_THAT(refusal([&] { bound.select(sample_rows()); }),
              StartsWith("a condition is true or false"));
}

} // namespace
} // namespace ballast::data
