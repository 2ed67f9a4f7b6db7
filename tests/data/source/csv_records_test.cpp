#include "data/source/csv_records.hpp"

#include <gtest/gtest.h>

namespace ballast::data {
namespace {

using records = std::vector<std::vector<std::string>>;

records split(const std::string& text) {
  records out;
  csv_records from(text);
  std::vector<std::string_view> fields;
  while (from.next(fields))
    out.emplace_back(fields.begin(), fields.end());
  return out;
}

TEST(csv_records, splits_lines_of_every_system) {
  const records expected{{"a", "b"}, {"1", "2"}, {"3", "4"}};
  EXPECT_EQ(split("a,b\n1,2\n3,4\n"), expected);
  EXPECT_EQ(split("a,b\r\n1,2\r\n3,4\r\n"), expected);
  EXPECT_EQ(split("a,b\r1,2\r3,4"), expected);
  EXPECT_EQ(split("\xEF\xBB\xBF"
                  "a,b\n\n1,2\n3,4"),
            expected);
}

TEST(csv_records, keeps_empty_fields_and_skips_empty_lines) {
  EXPECT_EQ(split(",\n\n,,x\n"), (records{{"", ""}, {"", "", "x"}}));
  EXPECT_EQ(split("a,\n"), (records{{"a", ""}}));
  EXPECT_TRUE(split("").empty());
  EXPECT_TRUE(split("\n\r\n").empty());
}

TEST(csv_records, sees_in_the_first_line_what_separates_cells) {
  EXPECT_EQ(split("a;b\n1,5;2\n"), (records{{"a", "b"}, {"1,5", "2"}}));
  EXPECT_EQ(split("a\tb\n1;2\t3\n"), (records{{"a", "b"}, {"1;2", "3"}}));
  EXPECT_EQ(split("\n\"a,b\";c\n1;2\n"), (records{{"a,b", "c"}, {"1", "2"}}));
  EXPECT_EQ(split("a;b,c\n1;2,3\n"), (records{{"a;b", "c"}, {"1;2", "3"}}));
  EXPECT_EQ(split("a\n1;2\n"), (records{{"a"}, {"1;2"}}));
}

TEST(csv_records, unquotes) {
  EXPECT_EQ(split("\"a,b\",\"say \"\"hi\"\"\",\"\"\n\"x\ny\",2\n"),
            (records{{"a,b", "say \"hi\"", ""}, {"x\ny", "2"}}));
}

TEST(csv_records, notices_a_cell_that_goes_on_behind_its_closing_quote) {
  csv_records from("\"a\"b,1\n\"a\" \t,1\n\"a\"\"\"b\n\"a\",\"b\"\"\"\n");
  std::vector<std::string_view> fields;
  std::vector<bool> noticed;
  while (from.next(fields))
    noticed.push_back(from.goes_on());
  EXPECT_EQ(noticed, (std::vector<bool>{true, false, true, false}));
}

TEST(csv_records, counts_lines_also_inside_quotes) {
  csv_records from("a\n\n\"x\ny\",1\nlast\n");
  std::vector<std::string_view> fields;
  std::vector<uint64_t> lines;
  while (from.next(fields))
    lines.push_back(from.line());
  EXPECT_EQ(lines, (std::vector<uint64_t>{1, 3, 5}));
  EXPECT_FALSE(from.broken());
}

TEST(csv_records, notices_a_quote_that_never_closes) {
  csv_records from("a,\"b\nc,d\n");
  std::vector<std::string_view> fields;
  EXPECT_TRUE(from.next(fields));
  EXPECT_TRUE(from.broken());
  EXPECT_FALSE(from.next(fields));
}

} // namespace
} // namespace ballast::data
