// Goal: whatever the text is, it is refused or has a value, and the canonical
// form says the same. Method: random tokens, random trees, random damage; each
// with its seed. Meant for the sanitizers, too.
#include "tests/data/expression/expression_samples.hpp"

#include "data/expression/parser.hpp"
#include "data/expression/syntax.hpp"
#include "runtime/base/random.hpp"

#include <arrow/compute/registry.h>
#include <cmath>
#include <gtest/gtest.h>

namespace ballast::data {
namespace {

/// Draws from lists of words.
struct dice {
  counter_random random;
  uint64_t drawn = 0;

  uint64_t bits() { return random.at(drawn++); }
  size_t below(size_t bound) { return size_t(random.below(bound, drawn++)); }
  template <size_t N>
  std::string any(const char* const (&words)[N]) {
    return words[below(N)];
  }
};

const char* const columns[] = {
    "amount", "b",   "tiny", "large", "ratio", "single", "city",
    "flag",   "day", "time", "zoned", "code",  "price",  "\"two words\""};
const char* const values[] = {"0",
                              "1",
                              "-1",
                              "127",
                              "2.5",
                              "1e3",
                              "''",
                              "'a%'",
                              "'x'",
                              "9223372036854775807",
                              "true",
                              "false",
                              "null",
                              "date '2026-01-31'",
                              "18446744073709551615",
                              "timestamp '2026-01-31 12:00:00'",
                              "timestamp '2026-01-31Z'"};
const char* const functions[] = {
    "lower",       "length",     "trim",         "abs",         "round",
    "coalesce",    "if",         "year",         "hour",        "div",
    "concat",      "least",      "greatest",     "power",       "sqrt",
    "is_nan",      "sign",       "contains",     "like",        "regex_match",
    "add",         "equal",      "make_struct",  "and_not",     "choose",
    "case_when",   "strptime",   "list_slice",   "random",      "shift_left",
    "ascii_lower", "utf8_title", "days_between", "iso_calendar"};
const char* const glue[] = {
    "and", "or",   "not", "is", "null", "in",    "between", "like",
    "as",  "cast", "=",   "!=", "<",    "<=",    ">",       ">=",
    "+",   "-",    "*",   "/",  "%",    "(",     ")",       ",",
    "(",   ")",    ";",   "'",  "\"",   "int64", "text",    "date"};

/// An error of the right kind, or values for each row.
void expect_answer(const std::string& text, int& bound, int& valued) {
  try {
    const expression parsed = parse(text, "/data/where");
    const expression again = parse(parsed.text(), "/data/where");
    EXPECT_TRUE(parsed == again) << text << "\n" << parsed.text();
    EXPECT_EQ(parsed.text(), again.text());
    const bound_expression one = parsed.bind(sample_schema());
    ++bound;
    const auto values = one.evaluate(*sample_rows());
    ++valued;
    EXPECT_TRUE(values->ValidateFull().ok()) << text;
    EXPECT_EQ(values->length(), 3) << text;
    EXPECT_TRUE(values->type()->Equals(one.type())) << text;
  } catch (const ballast_error& error) {
    const errc code = error.what_failed().code;
    EXPECT_TRUE(code == errc::invalid_job || code == errc::invalid_data)
        << text << "\n"
        << error.what();
    EXPECT_EQ(error.what_failed().pointer, "/data/where") << text;
  }
}

TEST(random_expression, of_any_tokens_is_refused_or_has_values) {
  int bound = 0;
  int valued = 0;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    dice d{counter_random(seed, 1)};
    std::string text;
    for (size_t count = 1 + d.below(12); count > 0; --count) {
      const size_t kind = d.below(8);
      text += (kind < 2   ? d.any(columns)
               : kind < 4 ? d.any(values)
               : kind < 5 ? d.any(functions) + "("
                          : d.any(glue)) +
              " ";
    }
    expect_answer(text, bound, valued);
  }
  EXPECT_GT(valued, 20);
}

/// Text that follows the grammar; types may fit or not.
std::string some_text(dice& d, int depth) {
  if (depth == 0)
    return d.below(2) == 0 ? d.any(columns) : d.any(values);
  const auto part = [&] { return some_text(d, depth - 1); };
  const auto in_parentheses = [&] { return "(" + part() + ")"; };
  static const char* const operators[] = {"+", "-", "*",  "/",  "%",   "=",
                                          "<", ">", "!=", ">=", "and", "or"};
  static const char* const types[] = {"int64", "float64",   "text",
                                      "date",  "timestamp", "bool"};
  switch (d.below(10)) {
  case 0:
    return "not " + in_parentheses();
  case 1:
    return "-" + in_parentheses();
  case 2:
    return in_parentheses() + (d.below(2) == 0 ? " is null" : " is not null");
  case 3:
    return in_parentheses() + " in (" + d.any(values) + ", " + d.any(values) +
           ")";
  case 4:
    return in_parentheses() + " between " + in_parentheses() + " and " +
           in_parentheses();
  case 5:
    return in_parentheses() + " like '%e%'";
  case 6:
    return "cast(" + part() + " as " + d.any(types) + ")";
  case 7: {
    std::string text = d.any(functions) + "(" + part();
    for (size_t more = d.below(3); more > 0; --more)
      text += ", " + part();
    return text + ")";
  }
  default:
    return in_parentheses() + " " + d.any(operators) + " " + in_parentheses();
  }
}

TEST(random_expression, of_any_function_is_refused_or_has_values) {
  int bound = 0;
  int valued = 0;
  parse("1", "").bind(sample_schema()); // registers the functions
  for (const std::string& name :
       arrow::compute::GetFunctionRegistry()->GetFunctionNames())
    for (uint64_t seed = 0; seed < 60; ++seed) {
      dice d{counter_random(seed, 5)};
      std::string text = name + "(";
      for (size_t more = d.below(4); more > 0; --more)
        text += (d.below(3) == 0 ? d.any(values) : d.any(columns)) + ", ";
      expect_answer(text + d.any(columns) + ")", bound, valued);
    }
  EXPECT_GT(valued, 500);
}

TEST(random_expression, of_the_grammar_is_refused_or_has_values) {
  int bound = 0;
  int valued = 0;
  for (uint64_t seed = 0; seed < 10'000; ++seed) {
    dice d{counter_random(seed, 2)};
    expect_answer(some_text(d, 1 + int(d.below(3))), bound, valued);
  }
  EXPECT_GT(bound, 500);
  EXPECT_GT(valued, 400);
}

TEST(random_expression, that_is_damaged_is_refused_or_has_values) {
  int bound = 0;
  int valued = 0;
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    dice d{counter_random(seed, 3)};
    std::string text = some_text(d, 3);
    for (size_t count = 1 + d.below(4); count > 0 && !text.empty(); --count) {
      const size_t at = d.below(text.size());
      if (d.below(2) == 0)
        text.erase(at, 1 + d.below(3));
      else
        text.insert(at, 1, char(d.below(256)));
    }
    expect_answer(text, bound, valued);
  }
}

node_pointer some_node(dice& d, int depth);

std::vector<node_pointer> some_children(dice& d, size_t count, int depth) {
  std::vector<node_pointer> out;
  while (out.size() < count)
    out.push_back(some_node(d, depth - 1));
  return out;
}

literal_value some_literal(dice& d) {
  const uint64_t bits = d.bits();
  switch (d.below(8)) {
  case 0:
    return literal_null{};
  case 1:
    return d.below(2) == 0;
  case 2:
    return int64_t(bits) >> d.below(64);
  case 3:
    return (uint64_t{1} << 63) | bits;
  case 4:
    return std::ldexp(double(int64_t(bits)), int(d.below(1800)) - 950);
  case 5: {
    static const char* const parts[] = {"a",  "'",        "''", "\"",
                                        "\n", "\xC3\xA4", "\\", "%"};
    std::string text;
    for (size_t count = d.below(5); count > 0; --count)
      text += d.any(parts);
    return text;
  }
  case 6:
    return literal_date{int32_t(d.below(3'652'059)) - 719'162};
  default:
    return literal_time{int64_t(d.below(3'652'059ull * 86'400'000'000)) -
                            719'162 * int64_t{86'400'000'000},
                        d.below(2) == 0};
  }
}

/// Any tree that a text can mean.
node_pointer some_node(dice& d, int depth) {
  static const char* const names[] = {"a",    "b.c",      "and",  "Null",
                                      "x y",  "\"",       "date", "2nd",
                                      "cast", "\xC3\xA4", "'",    "is"};
  static const char* const of_numbers[] = {"+", "-", "*", "/", "%"};
  static const char* const of_both[] = {"=", "!=", "<", "<=", ">", ">="};
  static const char* const types[] = {"int64", "float64",   "text",
                                      "date",  "timestamp", "bool"};
  expression_node out;
  out.kind = node_kind(d.below(depth == 0 ? 2 : 14));
  const auto literal = [&](bool text) {
    expression_node item;
    do
      item.value = some_literal(d);
    while (std::holds_alternative<literal_null>(item.value) ||
           (text && !std::holds_alternative<std::string>(item.value)));
    return std::make_shared<const expression_node>(item);
  };
  size_t count = 1;
  switch (out.kind) {
  case node_kind::literal:
    out.value = some_literal(d);
    count = 0;
    break;
  case node_kind::column:
    out.name = d.any(names);
    count = 0;
    break;
  case node_kind::arithmetic:
  case node_kind::comparison:
    out.name =
        out.kind == node_kind::arithmetic ? d.any(of_numbers) : d.any(of_both);
    count = 2;
    break;
  case node_kind::conjunction:
  case node_kind::disjunction:
    count = 2 + d.below(3);
    break;
  case node_kind::between:
    count = 3;
    break;
  case node_kind::call:
    out.name = "f";
    count = d.below(4);
    break;
  case node_kind::cast:
    out.name = d.any(types);
    break;
  default:
    break;
  }
  out.children = some_children(d, count, depth);
  if (out.kind == node_kind::in_list)
    for (size_t items = 1 + d.below(3); items > 0; --items)
      out.children.push_back(literal(false));
  if (out.kind == node_kind::like)
    out.children.push_back(literal(true));
  out.negated =
      (out.kind == node_kind::in_list || out.kind == node_kind::between ||
       out.kind == node_kind::like || out.kind == node_kind::is_null) &&
      d.below(2) == 0;
  return std::make_shared<const expression_node>(std::move(out));
}

TEST(random_expression, means_the_same_printed_and_parsed_again) {
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    dice d{counter_random(seed, 4)};
    const node_pointer tree = some_node(d, 1 + int(d.below(5)));
    const std::string text = print_expression(*tree);
    try {
      const node_pointer again = parse_tree(expression_source{text, ""});
      EXPECT_TRUE(same_meaning(*tree, *again)) << seed << ": " << text << "\n"
                                               << print_expression(*again);
    } catch (const ballast_error& error) {
      ADD_FAILURE() << seed << ": " << error.what();
    }
  }
}

} // namespace
} // namespace ballast::data
