// Goal: no key of a JSON lines file is lost without a word, its texts stay
// texts, and the job may say what a column is. Method: small texts, and keys
// behind the first 1 MiB, by which the columns are told.
#include "data/source/json_lines.hpp"
#include "data/source/jsonl_stream.hpp"
#include "tests/data/source/stream_tester.hpp"

namespace ballast::data {
namespace {

using strings = std::vector<std::string>;

std::unique_ptr<record_stream>
typed_json(const std::string& text, stated_types stated = {},
           bool every_key = true,
           std::shared_ptr<arrow::Schema> given = nullptr) {
  return open_jsonl_stream(in_memory(text, "a.jsonl"), std::move(given),
                           {std::move(stated), every_key});
}

std::string refused_json(const std::string& text, stated_types stated = {}) {
  return refusal_of([&] {
    const auto from = typed_json(text, std::move(stated));
    std::vector<int> all;
    for (int i = 0; i < from->schema()->num_fields(); ++i)
      all.push_back(i);
    from->choose(all);
    rows_of(*from);
  });
}

/// More than 1 MiB of rows.
std::string many(const std::string& row) {
  std::string out;
  while (out.size() <= 1 << 20)
    out += row + "\n";
  return out;
}

TEST(json_texts, are_put_around_the_values_of_some_keys) {
  const json_names names{"a", "b\""};
  const auto text = [&](const char* line) { return with_texts(line, names); };
  EXPECT_EQ(text(R"({"a":1.10,"c":1,"b\"": true})"),
            R"({"a":"1.10","c":1,"b\"": "true"})");
  EXPECT_EQ(text(R"({"a":"x","c":{"a":1}})"), R"({"a":"x","c":{"a":1}})");
  EXPECT_EQ(text(R"({"a": {"k":["}\"",{}]} ,"c":1})"),
            R"({"a": "{\"k\":[\"}\\\"\",{}]}" ,"c":1})");
  EXPECT_EQ(text(R"({"a":[1,{"a":2}],"\u0061":3})"),
            R"({"a":"[1,{\"a\":2}]","\u0061":"3"})");
  EXPECT_EQ(text(R"({"a":null,"a":})"), R"({"a":null,"a":})");
}

TEST(json_types, of_texts_that_look_like_times_are_text) {
  const auto from = typed_json(
      "{\"t\": \"2026-01-31 12:00:00\", \"o\": {\"d\": [\"2026-01-31\"]}}\n");
  EXPECT_EQ(from->schema()->ToString(),
            "t: string\no: struct<d: list<item: string>>");
  EXPECT_THAT(rows_of(*from)[0], testing::HasSubstr("2026-01-31 12:00:00"));
}

TEST(json_types, keep_whole_numbers_beyond_those_of_floats) {
  EXPECT_EQ(rows_of(*typed_json("{\"a\": 9223372036854775807}\n"
                                "{\"a\": -9007199254740993}\n")),
            (strings{"9223372036854775807", "-9007199254740993"}));
}

TEST(json_types, keep_the_digits_of_numbers_that_no_type_holds) {
  const std::string rows = "{\"a\": 18446744073709551615, \"b\": 0.5}\n"
                           "{\"a\": 1.50, \"b\": 0.12345678901234567}\n";
  const auto from = typed_json(rows);
  EXPECT_EQ(from->schema()->ToString(), "a: string\nb: double");
  EXPECT_EQ(rows_of(*from),
            (strings{"18446744073709551615 0.5", "1.50 0.12345678901234566"}));
  EXPECT_THAT(
      refused_json(many("{\"a\":0.5}") + "{\"a\":18446744073709551615}\n"),
      has_all({"column 'a': expected a number (float64) as in the "
               "first rows",
               R"(put "columns": {"a":"text"} into /data/train)"}));
  EXPECT_EQ(typed_json(rows, {}, false)->schema()->ToString(),
            "a: double\nb: double");
}

TEST(json_types, are_those_that_the_job_states) {
  const auto from = typed_json(
      "{\"a\": 1.10, \"b\": \"yes\", \"c\": \"2026-01-31\", \"d\": \"07\"}\n"
      "{\"a\": {\"k\": [1, 2]}, \"b\": true, \"c\": null, \"d\": 8}\n"
      "{\"a\": \"x\", \"b\": 0, \"c\": \"\", \"d\": \"\"}\n",
      {{"a", column_type::text},
       {"b", column_type::boolean},
       {"c", column_type::date},
       {"d", column_type::int64},
       {"later", column_type::float64}});
  EXPECT_EQ(from->schema()->ToString(),
            "a: string\nb: bool\nc: date32[day]\nd: int64\nlater: double");
  EXPECT_EQ(rows_of(*from), (strings{"1.10 true 2026-01-31 7 null",
                                     "{\"k\": [1, 2]} true null 8 null",
                                     "x false null null null"}));
}

TEST(json_types, that_are_stated_are_checked_row_by_row) {
  EXPECT_THAT(refused_json("{\"a\": \"2026-01-31\"}\n\n{\"a\": 5}\n",
                           {{"a", column_type::date}}),
              has_all({"a.jsonl: row 2 (line 3), column 'a': expected a date",
                       "(it is '5')"}));
  EXPECT_THAT(refused_json("{\"price\": 5}\n", {{"prise", column_type::text}}),
              has_all({"a.jsonl has no column 'prise'; did you mean 'price'?",
                       "/data/train/columns"}));
}

TEST(json_types, take_nan_for_a_number_among_numbers) {
  const std::string rows = "{\"a\": \"NaN\"}\n{\"a\": 2.5}\n{\"a\": 3}\n";
  EXPECT_EQ(rows_of(*typed_json(rows)), (strings{"nan", "2.5", "3"}));
  const auto late = typed_json(many("{\"a\":0.5}") + rows);
  EXPECT_EQ(rows_of(*late).back(), "3");
  EXPECT_EQ(rows_of(*typed_json("{\"a\": \"NaN\"}\n{\"a\": \"x\"}\n")),
            (strings{"NaN", "x"}));
  EXPECT_THAT(refused_json("{\"a\": 1.5}\n{\"a\": \"1.5\"}\n"),
              has_all({"row 2 (line 2), column 'a'",
                       R"(put "columns": {"a":"text"} into /data/train)"}));
}

TEST(json_keys, that_come_late_are_named_with_the_others_and_their_types) {
  const std::string begin = many("{\"a\":1,\"o\":{\"k\":1}}");
  const auto row = std::count(begin.begin(), begin.end(), '\n') + 1;
  EXPECT_THAT(
      refused_json(begin + "{\"a\":1,\"z\":5}\n{\"y\":\"x\"}\n{\"z\":0.5}\n"),
      has_all(
          {"a.jsonl: row " + std::to_string(row), "the key 'z' is new here",
           R"(put "columns": {"y":"text","z":"float64"} into /data/train)"}));
  EXPECT_THAT(refused_json(begin + "{\"a\":1,\"o\":{\"k\":1,\"n\":2}}\n"),
              has_all({"a key within 'o' is new here",
                       R"(put "columns": {"o":"text"} into /data/train)"}));
  const auto mended =
      typed_json(begin + "{\"a\":1,\"z\":5,\"y\":null}\n",
                 {{"z", column_type::float64}, {"o", column_type::text}});
  mended->choose({0, 1, 2});
  EXPECT_EQ(rows_of(*mended).back(), "1 null 5");
}

TEST(json_keys, that_nobody_asked_for_may_come_late) {
  const std::string text = many("{\"a\":1,\"o\":{\"k\":1}}") +
                           "{\"a\":2,\"o\":{\"n\":1},\"z\":null}\n";
  const auto from = typed_json(text);
  from->choose({0}); // what is within others is not read
  EXPECT_EQ(rows_of(*from).back(), "2");
  const auto any = typed_json(text + "{\"z\":1}\n", {}, false);
  any->choose({0});
  EXPECT_EQ(rows_of(*any).back(), "null");
}

TEST(json_keys, of_numbers_are_not_left_out_by_chance) {
  const std::string begin = many("{\"a\":1}");
  const auto rows = [&](const std::string& last) {
    const auto from = typed_json(begin + last + "\n", {}, false);
    from->leave_out({}, false);
    from->choose({0});
    return rows_of(*from).back();
  };
  EXPECT_EQ(rows("{\"a\":2,\"t\":\"x\"}"), "2");
  EXPECT_THAT(refusal_of([&] { rows("{\"a\":2,\"z\":-1}"); }),
              has_all({"the key 'z' is new here", R"({"z":"int64"})"}));
}

TEST(json_keys, may_be_written_with_escapes) {
  const auto from =
      typed_json(many("{\"a\":1,\"\\u00e4\":1}") + "{\"a\":2,\"ä\":3}\n");
  from->choose({0, 1});
  EXPECT_EQ(rows_of(*from).back(), "2 3");
}

TEST(json_types, of_later_files_are_those_of_the_first) {
  const auto first = typed_json("{\"a\":1,\"b\":{\"k\":1}}\n")->schema();
  const auto later =
      typed_json("{\"a\":null}\n{\"b\":{\"k\":2},\"a\":3}\n", {}, true, first);
  EXPECT_TRUE(later->schema()->Equals(*first));
  EXPECT_EQ(rows_of(*later)[0], "null null");
  EXPECT_THAT(refusal_of([&] {
                rows_of(*typed_json("{\"a\":1.5}\n", {}, true, first));
              }),
              has_all({"row 1 (line 1), column 'a': expected int64",
                       R"(put "columns": {"a":"float64"})"}));
  EXPECT_THAT(refusal_of([&] {
                rows_of(*typed_json("{\"b\":{\"n\":1}}\n", {}, true, first));
              }),
              has_all({"row 1 (line 1)", "a key within 'b' is new here"}));
}

} // namespace
} // namespace ballast::data
