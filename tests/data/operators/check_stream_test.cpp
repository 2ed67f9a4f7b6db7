// Goal: values that break a rule go, or change, as the rule says, and each row
// that goes is told with its column and the reason. Method: small tables, one
// rule after another.
#include "data/operators/check_stream.hpp"

#include "data/operators/removed_rows.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/graph/data_graph.hpp"
#include "tests/data/operators/operator_tester.hpp"

#include <nlohmann/json.hpp>

namespace ballast::data {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

graph::node check_node(const json& rules) {
  graph::node out;
  out.what = graph::op::check;
  std::map<std::string, std::string> texts;
  for (const auto& [column, rule] : rules.items())
    texts[column] = rule.dump();
  graph::option_of(out, "rules") = texts;
  return out;
}

std::vector<graph::check_rule> rules_of(const json& rules) {
  const graph::check_result out = graph::check_rules_of(check_node(rules));
  EXPECT_FALSE(out.mistake) << out.mistake.message;
  return out.rules;
}

/// The pointer below the node, and what is said of it.
std::string mistake_in(const json& rules) {
  const failure out = graph::check_rules_of(check_node(rules)).mistake;
  return out.pointer + ": " + out.message;
}

class check_test : public testing::Test {
protected:
  /// Rows without the origin, and what was told.
  std::vector<std::string>
  checked(const json& rules, const std::shared_ptr<arrow::RecordBatch>& in,
          int64_t rows_at_once = 4096) {
    removed_ = std::make_unique<removed_rows>();
    operator_context context = folder_.context();
    context.removed = removed_.get();
    auto origins =
        std::make_shared<row_origins>(std::vector<std::string>{"people"});
    origins->opened(0, "people.csv", 0);
    context.origins = origins;
    const auto out = all_of(
        checked_rows(stream_of(in, rows_at_once), rules_of(rules), context));
    types_.clear();
    for (const auto& field : out->schema()->fields())
      types_.push_back(field->name() + " " + field->type()->ToString());
    types_.pop_back();
    told_.clear();
    const std::string lines = removed_->lines();
    for (size_t at = 0; at < lines.size();) {
      const size_t end = lines.find('\n', at);
      const json line = json::parse(lines.substr(at, end - at));
      told_.push_back(std::to_string(line.at("row").get<int>()) + " " +
                      line.at("column").get<std::string>() + ": " +
                      line.at("reason").get<std::string>());
      at = end + 1;
    }
    return lines_of(*out->RemoveColumn(out->num_columns() - 1).ValueOrDie());
  }

  static std::shared_ptr<arrow::RecordBatch> ages() {
    return data::rows_of({arrow::field("age", arrow::float64())},
                         R"([{"age":-1},{"age":0},{"age":null},{"age":120},
                             {"age":120.5}])");
  }
  static std::shared_ptr<arrow::RecordBatch> words(const char* json) {
    return data::rows_of({arrow::field("t", arrow::utf8())}, json);
  }

  const spill_folder folder_;
  std::unique_ptr<removed_rows> removed_;
  std::vector<std::string> types_;
  std::vector<std::string> told_;
};

TEST_F(check_test, removes_what_is_out_of_range_and_tells_why) {
  EXPECT_THAT(checked({{"age", {{"min", 0}, {"max", 120}}}}, ages()),
              ElementsAre("0", "null", "120"));
  EXPECT_THAT(told_, ElementsAre("1 age: expected at least 0, found less",
                                 "5 age: expected at most 120, found more"));
  const auto counts = removed_->counts();
  EXPECT_EQ(counts.removed.at("the node"), 2u);
  EXPECT_EQ(counts.kept, 2u);
  EXPECT_EQ(counts.rows, 0u) << "they are no mistakes";
}

TEST_F(check_test, an_open_limit_is_not_allowed_itself) {
  EXPECT_THAT(checked({{"age", {{"above", 0}, {"below", 120.5}}}}, ages()),
              ElementsAre("null", "120"));
  EXPECT_THAT(told_, ElementsAre("1 age: expected more than 0, found less",
                                 "2 age: expected more than 0, found less",
                                 "5 age: expected less than 120.5, found "
                                 "more"));
}

TEST_F(check_test, clips_to_the_limits) {
  EXPECT_THAT(
      checked({{"age", {{"min", 0}, {"max", 120}, {"then", "clip"}}}}, ages()),
      ElementsAre("0", "0", "null", "120", "120"));
  EXPECT_THAT(told_, IsEmpty());
}

TEST_F(check_test, makes_values_missing_or_marks_them) {
  EXPECT_THAT(checked({{"age", {{"max", 100}, {"then", "null"}}}}, ages()),
              ElementsAre("-1", "0", "null", "null", "null"));
  EXPECT_THAT(checked({{"age", {{"max", 100}, {"then", "mark"}}}}, ages()),
              ElementsAre("-1 0", "0 0", "null 0", "120 1", "120.5 1"));
  EXPECT_THAT(types_, ElementsAre("age double", "age_invalid uint8"));
}

TEST_F(check_test, missing_values_break_not_null_alone) {
  EXPECT_THAT(checked({{"age", {{"not_null", true}, {"min", 0}}}}, ages()),
              ElementsAre("0", "120", "120.5"));
  EXPECT_THAT(told_, ElementsAre("1 age: expected at least 0, found less",
                                 "3 age: the value is missing"));
}

TEST_F(check_test, text_becomes_the_type_that_all_of_it_must_have) {
  const auto rows = words(R"([{"t":"7"},{"t":"x"},{"t":null},{"t":"1.5"},
                              {"t":"-3"}])");
  EXPECT_THAT(checked({{"t", {{"type", "int64"}, {"min", 0}}}}, rows),
              ElementsAre("7", "null"));
  EXPECT_THAT(types_, ElementsAre("t int64"));
  EXPECT_THAT(told_, ElementsAre("2 t: expected int64, found something else",
                                 "4 t: expected int64, found something else",
                                 "5 t: expected at least 0, found less"));
  EXPECT_THAT(checked({{"t", {{"type", "float64"}, {"then", "null"}}}}, rows),
              ElementsAre("7", "null", "null", "1.5", "-3"));
  EXPECT_THAT(checked({{"t", {{"type", "bool"}}}},
                      words(R"([{"t":"yes"},{"t":"maybe"},{"t":"0"}])")),
              ElementsAre("true", "false"));
  EXPECT_THAT(checked({{"t", {{"type", "date"}, {"min", "2026-01-01"}}}},
                      words(R"([{"t":"2026-01-31"},{"t":"2025-12-31"},
                                {"t":"soon"}])")),
              ElementsAre("2026-01-31"));
}

TEST_F(check_test, a_pattern_must_match_all_of_a_text) {
  EXPECT_THAT(checked({{"t", {{"matches", "[a-z]+@[a-z]+|none"}}}},
                      words(R"([{"t":"a@b"},{"t":"xa@b1"},{"t":"none"},
                                {"t":null},{"t":"none\n"}])")),
              ElementsAre("a@b", "none", "null"));
  EXPECT_THAT(told_[0], HasSubstr("2 t: expected a text that matches"));
}

TEST_F(check_test, a_set_has_texts_numbers_or_truths) {
  EXPECT_THAT(checked({{"t", {{"in", {"oslo", "rome"}}}}},
                      words(R"([{"t":"oslo"},{"t":"Oslo"},{"t":null},
                                {"t":"rome"}])")),
              ElementsAre("oslo", "null", "rome"));
  EXPECT_THAT(told_, ElementsAre("2 t: expected one of 'oslo', 'rome', found "
                                 "another"));
  EXPECT_THAT(checked({{"age", {{"in", {0, 120.5}}}}}, ages()),
              ElementsAre("0", "null", "120.5"));
}

TEST_F(check_test, the_first_column_that_is_wrong_tells_of_the_row) {
  const auto rows = data::rows_of(
      {arrow::field("b", arrow::int64()), arrow::field("a", arrow::int64())},
      R"([{"b":1,"a":1},{"b":-1,"a":-1},{"b":1,"a":-1}])");
  EXPECT_THAT(checked({{"a", {{"min", 0}}}, {"b", {{"min", 0}}}}, rows, 1),
              ElementsAre("1 1"));
  EXPECT_THAT(told_, ElementsAre("2 a: expected at least 0, found less",
                                 "3 a: expected at least 0, found less"));
  EXPECT_EQ(removed_->counts().removed.at("the node"), 2u);
}

TEST_F(check_test, whole_numbers_are_compared_without_rounding) {
  const auto rows =
      data::rows_of({arrow::field("n", arrow::int64())},
                    R"([{"n":9007199254740993},{"n":9007199254740992}])");
  EXPECT_THAT(checked({{"n", {{"min", 9007199254740993}}}}, rows),
              ElementsAre("9007199254740993"));
}

TEST_F(check_test, limits_of_large_whole_numbers_are_those_that_are_written) {
  const auto large = data::rows_of(
      {arrow::field("u", arrow::uint64())},
      R"([{"u":18446744073709551615},{"u":18446744073709551614},{"u":0}])");
  const std::string most = "18446744073709551615";
  const std::string next = "18446744073709551614";
  const auto of = [&](const json& rule) {
    return checked({{"u", rule}}, large);
  };
  EXPECT_THAT(of({{"min", -1}}), ElementsAre(most, next, "0"));
  EXPECT_THAT(of({{"max", -0.5}}), IsEmpty());
  EXPECT_THAT(of({{"min", 0.5}}), ElementsAre(most, next));
  EXPECT_THAT(of({{"above", 1e300}}), IsEmpty());
  EXPECT_THAT(of({{"below", 1e300}}), ElementsAre(most, next, "0"));
  EXPECT_THAT(of({{"max", 18446744073709551614u}}), ElementsAre(next, "0"));
  EXPECT_THAT(told_,
              ElementsAre("1 u: expected at most " + next + ", found more"));
  EXPECT_THAT(of({{"above", 18446744073709551614u}}), ElementsAre(most));
  EXPECT_THAT(of({{"in", json::array({18446744073709551615u})}}),
              ElementsAre(most));
  EXPECT_THAT(of({{"max", 18446744073709551614u}, {"then", "clip"}}),
              ElementsAre(next, next, "0"));
  const auto whole =
      data::rows_of({arrow::field("n", arrow::int64())},
                    R"([{"n":9007199254740993},{"n":9007199254740992},
                        {"n":-9223372036854775808}])");
  EXPECT_THAT(checked({{"n", {{"max", 9007199254740992.0}}}}, whole),
              ElementsAre("9007199254740992", "-9223372036854775808"));
  EXPECT_THAT(checked({{"n", {{"above", 9007199254740992.0}}}}, whole),
              ElementsAre("9007199254740993"));
  EXPECT_THAT(checked({{"n", {{"max", 18446744073709551615u}}}}, whole),
              testing::SizeIs(3));
  EXPECT_THAT(checked({{"n", {{"above", -9223372036854775808.0}}}}, whole),
              testing::SizeIs(2));
}

TEST_F(check_test, a_whole_limit_that_no_float_has_lies_between_two) {
  const auto floats = data::rows_of({arrow::field("x", arrow::float64())},
                                    R"([{"x":9007199254740992},
                                        {"x":9007199254740994}])");
  for (const char* low : {"min", "above"})
    EXPECT_THAT(checked({{"x", {{low, 9007199254740993}}}}, floats),
                ElementsAre("9.007199254740994e+15"));
  for (const char* high : {"max", "below"})
    EXPECT_THAT(checked({{"x", {{high, 9007199254740993}}}}, floats),
                ElementsAre("9.007199254740992e+15"));
}

TEST_F(check_test, refuses_rules_that_its_columns_do_not_have) {
  const auto refusal = [&](const json& rules) {
    try {
      checked_rows(stream_of(ages()), rules_of(rules), folder_.context());
    } catch (const ballast_error& error) {
      return std::string(error.what());
    }
    return std::string("taken");
  };
  EXPECT_THAT(refusal({{"agee", {{"min", 0}}}}),
              HasSubstr("/data/graph/2/rules/agee: there is no column 'agee'; "
                        "did you mean 'age'?"));
  EXPECT_THAT(refusal({{"age", {{"matches", "a"}}}}),
              HasSubstr("/data/graph/2/rules/age/matches: column 'age' is "
                        "double; expected text"));
  EXPECT_THAT(refusal({{"age", {{"min", "low"}}}}),
              HasSubstr("/data/graph/2/rules/age/min: column 'age' is double; "
                        "expected values of this type"));
  EXPECT_THAT(refusal({{"age", {{"in", json::array({"a"})}}}}),
              HasSubstr("/data/graph/2/rules/age/in"));
  try {
    checked_rows(stream_of(words("[]")), rules_of({{"t", {{"matches", "(a"}}}}),
                 folder_.context());
    FAIL() << "taken";
  } catch (const ballast_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("a regular expression that RE2 does "
                                        "not take"));
  }
}

TEST(check_rules, that_say_nothing_or_too_much_are_mistakes_with_a_place) {
  EXPECT_THAT(mistake_in({{"age", {{"mn", 0}}}}),
              HasSubstr("/rules/age/mn: unknown rule; did you mean \"min\"?"));
  EXPECT_THAT(mistake_in({{"age", {{"then", "clip"}}}}),
              HasSubstr("/rules/age: says nothing of the values"));
  EXPECT_THAT(mistake_in({{"age", {{"min", 2}, {"max", 1}}}}),
              HasSubstr("/rules/age: no number is in this range"));
  EXPECT_THAT(mistake_in({{"age", {{"min", 0}, {"above", 0}}}}),
              HasSubstr("/rules/age/min: "));
  EXPECT_THAT(mistake_in({{"age", {{"above", 0}, {"then", "clip"}}}}),
              HasSubstr("/rules/age/then: \"clip\" brings numbers to"));
  EXPECT_THAT(mistake_in({{"age", {{"not_null", true}, {"then", "null"}}}}),
              HasSubstr("/rules/age/then: \"null\" makes a value missing"));
  EXPECT_THAT(mistake_in({{"age", {{"type", "number"}}}}),
              HasSubstr("/rules/age/type: expected one of \"int64\", "));
  EXPECT_THAT(mistake_in({{"age", {{"in", {1, "a"}}}}}),
              HasSubstr("/rules/age/in: expected values of one kind"));
  EXPECT_THAT(mistake_in({{"age", 7}}),
              HasSubstr("/rules/age: expected an object of rules"));
}

} // namespace
} // namespace ballast::data
