// Goal: the grammar of expressions is SQL's, and whatever is no expression is
// refused with its place. Method: tables of texts with their canonical form, or
// with their error.
#include "tests/data/expression/expression_samples.hpp"

#include <gtest/gtest.h>

namespace ballast::data {
namespace {

std::string canonical(const std::string& text) {
  return parse(text, "/data/where").text();
}

std::string parse_refusal(const std::string& text) {
  return refusal([&] { parse(text, "/data/where"); });
}

void expect_same(const std::string& a, const std::string& b) {
  EXPECT_TRUE(parse(a, "") == parse(b, "")) << a << "\n" << b;
}

void expect_other(const std::string& a, const std::string& b) {
  EXPECT_FALSE(parse(a, "") == parse(b, "")) << a << "\n" << b;
}

std::string repeated(size_t times, const std::string& text) {
  std::string out;
  for (size_t i = 0; i < times; ++i)
    out += text;
  return out;
}

TEST(expression, knows_each_form_of_the_grammar) {
  const std::pair<const char*, const char*> forms[] = {
      {"a", "a"},
      {"a.b_2", "a.b_2"},
      {"gr\xC3\xB6\xC3\x9F"
       "e",
       "gr\xC3\xB6\xC3\x9F"
       "e"},
      {"\"two words\"", "\"two words\""},
      {"\"a \"\"b\"\"\"", "\"a \"\"b\"\"\""},
      {"\"plain\"", "plain"},
      {"\"and\"", "\"and\""},
      {"\"Null\"", "\"Null\""},
      {"date = 1", "date = 1"},
      {"1", "1"},
      {"-1", "-1"},
      {"- 1", "-1"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"18446744073709551615", "18446744073709551615"},
      {"0.5", "0.5"},
      {".5", "0.5"},
      {"5.", "5.0"},
      {"1e3", "1000.0"},
      {"-1E-3", "-0.001"},
      {"2.5e+300", "2.5e+300"},
      {"'text'", "'text'"},
      {"''", "''"},
      {"'it''s'", "'it''s'"},
      {"TRUE", "true"},
      {"False", "false"},
      {"NULL", "null"},
      {"date '2026-01-31'", "date '2026-01-31'"},
      {"DATE '0001-01-01'", "date '0001-01-01'"},
      {"timestamp '2026-01-31 12:00:00'", "timestamp '2026-01-31 12:00:00'"},
      {"timestamp '2026-01-31'", "timestamp '2026-01-31 00:00:00'"},
      {"timestamp '1969-12-31T23:59:59.25'",
       "timestamp '1969-12-31 23:59:59.250000'"},
      {"timestamp '2026-01-31 12:00+02:00'",
       "timestamp '2026-01-31 10:00:00Z'"},
      {"a == 1", "a = 1"},
      {"a <> 1", "a != 1"},
      {"a<=1", "a <= 1"},
      {"a is null", "a is null"},
      {"a IS NOT NULL", "a is not null"},
      {"a in (1,-2.5, 'x', date '2026-01-31', true)",
       "a in (1, -2.5, 'x', date '2026-01-31', true)"},
      {"a not in (1)", "a not in (1)"},
      {"a between 1 and b + 1", "a between 1 and b + 1"},
      {"a not between -1 and 1", "a not between -1 and 1"},
      {"a like 'x%'", "a like 'x%'"},
      {"a not like 'x%'", "a not like 'x%'"},
      {"Lower( a )", "lower(a)"},
      {"f()", "f()"},
      {"if(a > 1, b, null)", "if(a > 1, b, null)"},
      {"cast(a + 1 as INTEGER)", "cast(a + 1 as int64)"},
      {"cast(a as double)", "cast(a as float64)"},
      {"cast(a as string)", "cast(a as text)"},
      {"a\n  +\tb", "a + b"},
  };
  for (const auto& [text, expected] : forms) {
    EXPECT_EQ(canonical(text), expected);
    expect_same(text, expected);
  }
}

TEST(expression, binds_operators_as_sql_does) {
  const std::pair<const char*, const char*> equal[] = {
      {"a or b and c", "a or (b and c)"},
      {"not a and b", "(not a) and b"},
      {"not a = b", "not (a = b)"},
      {"not a is null", "not (a is null)"},
      {"a = 1 and b = 2 or c = 3", "((a = 1) and (b = 2)) or (c = 3)"},
      {"a + b * c", "a + (b * c)"},
      {"a - b - c", "(a - b) - c"},
      {"a / b * c % d", "((a / b) * c) % d"},
      {"-a * b", "(-a) * b"},
      {"a - -b", "a - (-b)"},
      {"a < b + 1", "a < (b + 1)"},
      {"a between 1 and 2 and b", "(a between 1 and 2) and b"},
      {"a + 1 in (2)", "(a + 1) in (2)"},
  };
  for (const auto& [text, meant] : equal)
    expect_same(text, meant);
  expect_other("a or b and c", "(a or b) and c");
  expect_other("a - (b - c)", "a - b - c");
  expect_other("-(2)", "-2");
  expect_other("a = '1'", "a = 1");
}

TEST(expression, prints_no_needless_parentheses) {
  for (const char* text :
       {"(a or b) and c", "a - (b - c)", "(a = b) = c", "-(2)", "-(-2)",
        "not (a and b)", "(a is null) is null", "(a + b) * c", "a * (b * c)",
        "cast(a or b as text)", "not not a", "--a", "(not a) = b"})
    EXPECT_EQ(canonical(text), text);
  EXPECT_EQ(canonical("((a)) + ((b))"), "a + b");
}

TEST(expression, lists_its_columns_once_in_order) {
  const std::vector<std::string> expected{"b", "two words", "a", "c"};
  EXPECT_EQ(
      parse("b > 1 and \"two words\" in (1) or if(a, b, c) = a", "").columns(),
      expected);
  EXPECT_TRUE(parse("1 = 1", "").columns().empty());
}

TEST(expression, points_at_what_is_wrong) {
  const std::pair<const char*, const char*> errors[] = {
      {"a > ) and",
       "column 5: expected a column, a value or \"(\", found \")\"\n"
       "  a > ) and\n"
       "      ^"},
      {"(a > 1", "column 7: expected \")\" for the \"(\" at column 1, found "
                 "the end\n"
                 "  (a > 1\n"
                 "        ^"},
      {"f(a, ", "column 6: expected a column, a value or \"(\", found the "
                "end\n  f(a, \n       ^"},
      {"a > 1)", "column 6: this \")\" closes nothing\n"
                 "  a > 1)\n"
                 "       ^"},
      {"a 5", "column 3: expected \"and\", \"or\", an operator or the end, "
              "found the number 5\n  a 5\n    ^"},
      {"a (5)", ""}, // a call
      {"(a) (5)", "column 5: expected an operator or the end, found \"(\"\n"
                  "  (a) (5)\n      ^"},
      {"a < b < 3", "column 7: comparisons make no chain; write a < b and b < "
                    "c\n  a < b < 3\n        ^"},
      {"a = 1 is null", "column 7: expected \"and\", \"or\", an operator or "
                        "the end, found \"is\"\n"
                        "  a = 1 is null\n        ^"},
      {"a is 5", "column 6: expected \"null\" or \"not null\" after \"is\", "
                 "found the number 5\n  a is 5\n       ^"},
      {"a is not 'x'", "column 10: expected \"null\" after \"is not\", found "
                       "the text 'x'\n  a is not 'x'\n           ^"},
      {"a not 5", "column 7: expected \"in\", \"between\" or \"like\" after "
                  "\"not\", found the number 5\n  a not 5\n        ^"},
      {"a in 5", "column 6: expected \"(\" and a list of values after \"in\", "
                 "found the number 5\n  a in 5\n       ^"},
      {"a in ()", "column 7: expected a number, a text in single quotes, a "
                  "date, a timestamp, true or false; a list of \"in\" holds "
                  "no columns, found \")\"\n  a in ()\n        ^"},
      {"a in (1, \"b\")",
       "column 10: expected a number, a text in single quotes, a date, a "
       "timestamp, true or false; a list of \"in\" holds no columns, found "
       "the column \"b\"\n  a in (1, \"b\")\n           ^"},
      {"a in (null)", "column 7: a list with null would never be false for a "
                      "value that is not in it; write \"is null\" beside "
                      "\"in\"\n  a in (null)\n        ^"},
      {"a between 1 or 2",
       "column 13: expected \"and\" and the upper limit of \"between\", found "
       "\"or\"\n  a between 1 or 2\n              ^"},
      {"a like b", "column 8: expected a pattern in single quotes after "
                   "\"like\", such as 'a%', found \"b\"\n"
                   "  a like b\n         ^"},
  };
  for (const auto& [text, expected] : errors)
    EXPECT_EQ(parse_refusal(text), expected);
}

TEST(expression, points_at_words_in_the_wrong_place) {
  const std::pair<const char*, const char*> errors[] = {
      {"in > 5", "column 1: expected a column, a value or \"(\", found the "
                 "keyword \"in\"; a column of this name is written in double "
                 "quotes\n  in > 5\n  ^"},
      {"\"f\"(a)",
       "column 1: the name of a function has no quotes\n  \"f\"(a)\n  ^"},
      {"cast(a, int64)", "column 7: expected \"as\" and a type, as in cast(a "
                         "as int64), found \",\"\n"
                         "  cast(a, int64)\n        ^"},
      {"cast(a as in64)",
       "column 11: expected one of the types int64, float64, text, date, "
       "timestamp, bool, found \"in64\"; did you mean \"int64\"?\n"
       "  cast(a as in64)\n            ^"},
      {"date '2026-02-30'",
       "column 6: expected a date such as '2026-01-31', found the text "
       "'2026-02-30'\n  date '2026-02-30'\n       ^"},
      {"timestamp '2026-01-31 24:00:00'",
       "column 11: expected a timestamp such as '2026-01-31 12:00:00', with "
       "at most six digits of a second and Z or +02:00 for a zone, found the "
       "text '2026-01-31 24:00:00'\n  timestamp '2026-01-31 24:00:00'\n"
       "            ^"},
      {"a ; b", "column 3: expected \"and\", \"or\", an operator or the end, "
                "found \";\"\n  a ; b\n    ^"},
      {"a > 1\n  and b >", "line 2, column 10: expected a column, a value or "
                           "\"(\", found the end\n    and b >\n"
                           "           ^"},
      {"\xC3\xA4 > )", "column 5: expected a column, a value or \"(\", found "
                       "\")\"\n  \xC3\xA4 > )\n      ^"},
  };
  for (const auto& [text, expected] : errors)
    EXPECT_EQ(parse_refusal(text), expected);
}

TEST(expression, refuses_what_is_no_token) {
  const std::pair<const char*, const char*> errors[] = {
      {"s = 'it''s", "column 5: this quote is never closed; a quote within a "
                     "text is written twice: 'it''s'\n  s = 'it''s\n      ^"},
      {"\"a > 1", "column 1: this quote is never closed; a quote within a "
                  "name is written twice: \"a \"\"b\"\"\"\n  \"a > 1\n  ^"},
      {"\"\" = 1", "column 1: a column without a name; texts are in single "
                   "quotes: ''\n  \"\" = 1\n  ^"},
      {"2nd > 1", "column 1: a number that runs into a name; a column whose "
                  "name begins with a digit is in double quotes: \"2nd\"\n"
                  "  2nd > 1\n  ^"},
      {"1e > 1", "column 1: a number that runs into a name; a column whose "
                 "name begins with a digit is in double quotes: \"2nd\"\n"
                 "  1e > 1\n  ^"},
      {"1.2.3", "column 1: a number that runs into a name; a column whose "
                "name begins with a digit is in double quotes: \"2nd\"\n"
                "  1.2.3\n  ^"},
      {"18446744073709551616",
       "column 1: the number 18446744073709551616 is beyond the range of "
       "integers; write it with \".0\" for a float64\n"
       "  18446744073709551616\n  ^"},
      {"-9223372036854775809",
       "column 2: the number 9223372036854775809 is beyond the range of "
       "integers; write it with \".0\" for a float64\n"
       "  -9223372036854775809\n   ^"},
      {"1e999", "column 1: the number 1e999 is beyond the range of float64\n"
                "  1e999\n  ^"},
      {"a && b", "column 3: unknown operator \"&&\"; write \"and\"\n"
                 "  a && b\n    ^"},
      {"a || b", "column 3: unknown operator \"|\"; write \"or\", and "
                 "concat(a, b) to join texts\n  a || b\n    ^"},
      {"!a", "column 1: unknown operator \"!\"; write \"not\"\n  !a\n  ^"},
      {"a # b", "column 3: unexpected character \"#\"\n  a # b\n    ^"},
      {"a = \xE2\x80\x98x\xE2\x80\x99",
       "column 5: a typographic quote; texts are in plain single quotes: "
       "'text'\n  a = \xE2\x80\x98x\xE2\x80\x99\n      ^"},
      {"\xE2\x80\x9C"
       "a\xE2\x80\x9D > 1",
       "column 1: a typographic quote; columns with special characters are in "
       "plain double quotes: \"a column\"\n  \xE2\x80\x9C"
       "a\xE2\x80\x9D > 1\n  ^"},
  };
  for (const auto& [text, expected] : errors)
    EXPECT_EQ(parse_refusal(text), expected);
  const std::string empty =
      "the expression is empty; expected for example amount > 0";
  EXPECT_EQ(parse_refusal(""), empty);
  EXPECT_EQ(parse_refusal(" \n"), empty);
  EXPECT_EQ(parse_refusal("a = '\xFF'"), "the expression is not UTF-8");
}

TEST(expression, shows_the_surroundings_in_a_long_text) {
  const std::string error = parse_refusal(
      repeated(20, "column_\xC3\xA4 = 1 and ") + "( " + repeated(20, " x y"));
  EXPECT_EQ(error,
            "column 346: expected \")\" for the \"(\" at column 341, found "
            "\"y\"\n  ... 1 and column_\xC3\xA4 = 1 and column_\xC3\xA4 = 1 "
            "and (  x y x y x y x y x y x y x y x y x ...\n" +
                std::string(51, ' ') + "^");
}

TEST(expression, limits_what_a_text_can_ask_for) {
  EXPECT_EQ(parse_refusal(repeated(expression_bytes_max + 1, "a")),
            "the expression has 65537 bytes; at most 65536 are allowed");
  const auto nested = [](size_t times) {
    return repeated(times, "(") + "a" + repeated(times, ")");
  };
  EXPECT_EQ(parse_refusal(nested(expression_depth_max)), "");
  const std::string too_deep =
      "nested more than 100 deep; derive a part as a column of its own";
  for (const std::string& text :
       {nested(expression_depth_max + 1), nested(30'000),
        repeated(10'000, "not ") + "a", repeated(60'000, "-") + "a",
        repeated(10'000, "f(") + "a"})
    EXPECT_NE(parse_refusal(text).find(too_deep), std::string::npos);
  EXPECT_EQ(parse_refusal("a" + repeated(499, " + a")), "");
  EXPECT_NE(parse_refusal("a" + repeated(500, " + a"))
                .find("more than 500 operators in a chain"),
            std::string::npos);
  EXPECT_EQ(parse_refusal("a" + repeated(9'000, " or a")), "");
  EXPECT_EQ(parse_refusal("a in (1" + repeated(9'999, ", 1") + ")"), "");
  EXPECT_NE(parse_refusal("a in (1" + repeated(10'000, ", 1") + ")")
                .find("more than 10000 values in one list"),
            std::string::npos);
}

TEST(expression, does_not_double_its_work_without_end) {
  std::string text = "a";
  for (int i = 0; i < 40; ++i)
    text = "if(" + text + " between 1 and 2, 1, 2)";
  EXPECT_NE(parse_refusal(text).find("\"between\" computes its operand twice"),
            std::string::npos);
}

} // namespace
} // namespace ballast::data
