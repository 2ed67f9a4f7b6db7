// Goal: a CSV file whose types are found loses nothing, and a cell that does
// not fit says what to do; one that is trained on as it is, is read as ever.
// Method: small texts, cut anywhere; every cell as text.
#include "data/source/csv_stream.hpp"
#include "tests/data/source/stream_tester.hpp"

namespace ballast::data {
namespace {

using strings = std::vector<std::string>;
using ::testing::HasSubstr;

csv_stream typed_csv(const std::string& text, stated_types stated = {},
                     size_t block_bytes = 1 << 20,
                     cell_typing typing = cell_typing::exact) {
  csv_stream::terms how{"/data/sources/in"};
  how.block_bytes = block_bytes;
  how.threads = 2;
  how.null_values = {"NA"};
  how.typing = typing;
  how.stated = std::move(stated);
  return {"t.csv",
          [text, at = size_t{0}](char* to, size_t bytes) mutable {
            const size_t got = text.copy(to, bytes, at);
            at += got;
            return got;
          },
          how};
}

std::string types_of(const std::string& text, stated_types stated = {},
                     cell_typing typing = cell_typing::exact) {
  std::string out;
  csv_stream from = typed_csv(text, std::move(stated), 1 << 20, typing);
  const auto schema = from.schema();
  for (const auto& field : schema->fields())
    out += (out.empty() ? "" : ", ") + field->name() + " " +
           field->type()->ToString();
  return out;
}

strings cells(const std::string& text, stated_types stated = {},
              size_t block_bytes = 1 << 20) {
  csv_stream from = typed_csv(text, std::move(stated), block_bytes);
  return rows_of(from);
}

std::string refused_csv(const std::string& text, stated_types stated = {},
                        size_t block_bytes = 1 << 20) {
  return refusal_of([&] { cells(text, std::move(stated), block_bytes); });
}

const std::string mixed = "id,zip,price,city,none,when\n"
                          "9223372036854775807,01234,1.10,oslo,,2026-01-31\n"
                          "-5,99999,-0,\"a, \"\"b\"\"\nc\",NA,\n"
                          ",00001,1e22,,,2026-02-01\n";

TEST(csv_types, are_found_by_all_cells_of_the_first_block) {
  EXPECT_EQ(types_of(mixed), "id int64, zip string, price double, city string, "
                             "none double, when string");
  EXPECT_EQ(cells(mixed),
            (strings{"9223372036854775807 01234 1.1 oslo null 2026-01-31",
                     "-5 99999 -0 a, \"b\"\nc null null",
                     "null 00001 1e+22 null null 2026-02-01"}));
}

TEST(csv_types, keep_the_zeros_in_front) {
  EXPECT_EQ(types_of("a,b\n1,0\n2,0.5\n03,00.5\n"), "a string, b string");
  EXPECT_EQ(cells("a\n1\n007\n"), (strings{"1", "007"}));
}

TEST(csv_types, keep_numbers_that_no_type_holds_as_text) {
  EXPECT_EQ(
      cells("a,b,c\n18446744073709551615,1e400,0.5\n1,2,"
            "9007199254740993\n"),
      (strings{"18446744073709551615 1e400 0.5", "1 2 9007199254740993"}));
}

TEST(csv_types, keep_the_blanks_inside_quotes) {
  EXPECT_EQ(cells("a,b\n\"  y \",x\n\"\t\", z \n\" \"\"q \",\" NA \"\n"),
            (strings{"  y  x", "\t z", " \"q  null"}))
      << "blanks around a cell without quotes are none of it";
  EXPECT_EQ(cells("a\n\" 1 \"\n\"2\"\n"), (strings{"1", "2"}));
}

TEST(csv_types, lose_no_text_behind_a_closing_quote) {
  for (const size_t block : {4, 1 << 20})
    EXPECT_THAT(refused_csv("a,b\n\"1\" ,2\n\"1\"2,5\n", {}, block),
                HasSubstr("t.csv: row 2 (line 3): a cell goes on behind its "
                          "closing quote"));
  EXPECT_THAT(refused_csv("\"a\"x,b\n1,2\n"),
              HasSubstr("line 1, the header: a name goes on behind its closing "
                        "quote"));
}

TEST(csv_types, refuse_text_that_is_no_utf_8) {
  for (const char* cell : {"\xff\xfe", "\"\xe9\""})
    EXPECT_THAT(refused_csv("a,b\n1,x\n2," + std::string(cell) + "\n"),
                HasSubstr("t.csv: row 2 (line 3), column 'b': is no valid "
                          "UTF-8; convert the file to UTF-8"))
        << cell;
}

TEST(csv_types, do_not_depend_on_where_the_text_is_cut) {
  std::string text = "a,b,c,d\n";
  for (int i = 0; i < 300; ++i)
    text += std::to_string(i) + (i % 3 == 0 ? ",x" : ",\"y\n,\"") + "," +
            std::to_string(i) + ".5," + (i % 7 == 0 ? "NA" : "-12") + "\r\n";
  const strings expected = cells(text);
  ASSERT_EQ(expected.size(), 300u);
  EXPECT_EQ(expected[7], "7 y\n, 7.5 null");
  for (size_t bytes : {64, 100, 333})
    EXPECT_EQ(cells(text, {}, bytes), expected) << bytes;
}

TEST(csv_types, are_kept_by_every_later_cell_or_it_is_named) {
  std::string begin = "id,price\n";
  for (int i = 0; i < 20; ++i)
    begin += std::to_string(i) + ",0.5\n";
  const struct {
    std::string row;
    strings words;
  } table[] = {
      {"1.5,2",
       {"column 'id': expected a whole number (int64) as in the first rows, "
        "found a number that is written otherwise",
        R"(put "columns": {"id":"float64"} into /data/sources/in)",
        "(it is '1.5')"}},
      {"007,2",
       {"column 'id'", "zeros in front",
        R"(put "columns": {"id":"text"} into /data/sources/in)"}},
      {"x,2",
       {"column 'id'", "found text of 1 character", "null_values",
        R"(put "columns": {"id":"text"} into /data/sources/in)"}},
      {"1,01.5", {"column 'price'", "zeros in front", R"({"price":"text"})"}},
      {"1,9007199254740993",
       {"column 'price'", "float64 would round", R"({"price":"text"})"}},
      {"1,1e999", {"column 'price'", R"({"price":"text"})"}},
  };
  for (const auto& one : table) {
    strings words = one.words;
    words.push_back("t.csv: row 21 (line 22), ");
    EXPECT_THAT(refused_csv(begin + one.row + "\n1,1\n", {}, 64),
                has_all(words));
  }
  EXPECT_EQ(cells(begin + "9223372036854775807,1\n,\n", {}, 64).size(), 22u);
}

TEST(csv_types, are_those_that_the_job_states) {
  EXPECT_EQ(types_of("a,b,c,d,e,f\n1,1,1,1,2026-01-31,2026-01-31\n",
                     {{"a", column_type::text},
                      {"b", column_type::float64},
                      {"c", column_type::boolean},
                      {"e", column_type::date},
                      {"f", column_type::timestamp}}),
            "a string, b double, c bool, d int64, e date32[day], f "
            "timestamp[us]");
  EXPECT_EQ(cells("a,b\n01,yes\nNA,NO\n",
                  {{"a", column_type::int64}, {"b", column_type::boolean}}),
            (strings{"1 true", "null false"}));
}

TEST(csv_types, that_are_stated_are_checked_cell_by_cell) {
  EXPECT_THAT(refused_csv("a,b\n2026-01-31,1\n2026-13-01,2\n",
                          {{"a", column_type::date}}),
              has_all({"t.csv: row 2 (line 3), column 'a': expected a date "
                       "such as 2026-01-31, found text of 10 characters",
                       "/data/sources/in/columns", "(it is '2026-13-01')"}));
  EXPECT_THAT(refused_csv("a\n1\n1.5\n", {{"a", column_type::int64}}),
              has_all({"row 2", "expected a whole number"}));
  EXPECT_THAT(refused_csv("a\n1\nmaybe\n", {{"a", column_type::boolean}}),
              has_all({"row 2", "expected true, false, yes, no, 1 or 0"}));
}

TEST(csv_types, for_a_column_that_is_not_there_are_refused_at_once) {
  EXPECT_THAT(refusal_of([] {
                typed_csv("id,price\n", {{"prise", column_type::text}});
              }),
              has_all({"/data/sources/in/columns: t.csv has no column 'prise'",
                       "did you mean 'price'?"}));
}

TEST(csv_types, need_names_that_differ) {
  EXPECT_THAT(refused_csv("a,b,a\n1,2,3\n"),
              has_all({"t.csv: columns 1 and 3 are both named 'a'"}));
  EXPECT_THAT(refused_csv("a, ,\n1,2,3\n"),
              has_all({"columns 2 and 3 have no name"}));
  EXPECT_EQ(types_of(",a\n0,x\n"), " int64, a string");
  EXPECT_EQ(types_of("a,a\n1,2\n", {}, cell_typing::numbers),
            "a double, a double");
}

TEST(csv_types, are_found_behind_a_mark_and_without_a_last_line_end) {
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_EQ(types_of(mark + "a,b\r\n1,x\r\n2,y"), "a int64, b string");
  EXPECT_EQ(cells(mark + "\"a\nb\",c\r\n1,x\r\n2,y", {}, 4),
            (strings{"1 x", "2 y"}));
}

TEST(csv_types, of_silent_columns_come_from_later_blocks) {
  std::string text = "a,b\n";
  for (int i = 0; i < 50; ++i)
    text += "1,\n";
  EXPECT_EQ(cells(text + "1,word\n", {}, 32).back(), "1 word");
  EXPECT_EQ(cells(text + "1,7\n", {}, 32).back(), "1 7");
}

TEST(csv_types, are_numbers_alone_where_a_job_trains_on_the_file) {
  EXPECT_EQ(types_of(mixed, {}, cell_typing::numbers),
            "id double, zip double, price double, city string, none double, "
            "when string");
  EXPECT_EQ(types_of(mixed, {{"zip", column_type::text}}, cell_typing::numbers),
            "id double, zip string, price double, city string, none double, "
            "when string");
}

TEST(csv_types, that_are_found_give_way_and_stated_ones_do_not) {
  csv_stream from = typed_csv("a,b\n1,2\n3,4\n", {{"b", column_type::int64}});
  EXPECT_TRUE(from.read_as(0, column_type::text));
  EXPECT_FALSE(from.read_as(1, column_type::float64));
  EXPECT_TRUE(from.read_as(1, column_type::int64));
  EXPECT_EQ(rows_of(from), (strings{"1 2", "3 4"}));
}

} // namespace
} // namespace ballast::data
