// Goal: the type of a column keeps every cell as it is written, and what is
// not of a type is told. Method: tables of cells.
#include "data/source/cell_type.hpp"

#include "runtime/base/errors.hpp"

#include <arrow/api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ballast::data {
namespace {

using ::testing::HasSubstr;

TEST(cell_form, tells_how_a_number_is_written) {
  const struct {
    cell_form form;
    std::vector<std::string> cells;
  } table[] = {
      {cell_form::missing, {""}},
      {cell_form::whole,
       {"0", "7", "-7", "9007199254740992", "-9007199254740992",
        "1000000000000000000", "-9223372036854775808"}},
      {cell_form::long_whole,
       {"9007199254740993", "9223372036854775807", "-9223372036854775807"}},
      {cell_form::number,
       {"-0", "+7", "1.0", "1.10", ".5", "5.", "-0.5", "0.1", "1e22", "1E-3",
        "1e-400", "nan", "inf", "-inf", "10000000000000000000000"}},
      {cell_form::zeros, {"01", "-01", "+01", "00", "007.5", "00e1"}},
      {cell_form::beyond,
       {"18446744073709551615", "9223372036854775809", "1e400", "-1e400",
        "+9007199254740993", std::string(400, '9')}},
      {cell_form::word, {"x", "1,5", "1 2", "0x10", "-", "1.2.3", "1e", "NA"}},
  };
  for (const auto& one : table)
    for (const std::string& cell : one.cells)
      EXPECT_EQ(int(form_of(cell)), int(one.form)) << cell;
}

column_type type_of(const std::vector<std::string>& cells) {
  common_cell_type out;
  for (const std::string& cell : cells)
    out.see(cell);
  return out.type();
}

TEST(common_cell_type, keeps_what_the_cells_are_written_with) {
  EXPECT_EQ(type_of({"1", "", "-3"}), column_type::int64);
  EXPECT_EQ(type_of({"9223372036854775807", "1"}), column_type::int64);
  EXPECT_EQ(type_of({"1", "2.5"}), column_type::float64);
  EXPECT_EQ(type_of({"1e22", "-0"}), column_type::float64);
  EXPECT_EQ(type_of({"", ""}), column_type::float64);
  EXPECT_EQ(type_of({"1234", "01234"}), column_type::text);
  EXPECT_EQ(type_of({"1", "x"}), column_type::text);
  EXPECT_EQ(type_of({"2.5", "9007199254740993"}), column_type::text);
  EXPECT_EQ(type_of({"1", "18446744073709551615"}), column_type::text);
  EXPECT_EQ(type_of({"2026-01-31"}), column_type::text);
  EXPECT_EQ(type_of({"true", "false"}), column_type::text);
}

std::string read_cells(column_type type, std::vector<std::string_view> cells,
                       bool exact = false) {
  size_t bad = 0;
  const auto array = array_of_cells({type, exact, !exact}, cells, bad);
  if (array == nullptr)
    return "bad " + std::to_string(bad);
  std::string out;
  for (int64_t i = 0; i < array->length(); ++i)
    out += (i > 0 ? " " : "") + array->GetScalar(i).ValueOrDie()->ToString();
  return out;
}

TEST(cells, are_read_as_the_type_that_is_stated) {
  EXPECT_EQ(
      read_cells(column_type::int64, {"007", "+5", "", "-9223372036854775808"}),
      "7 5 null -9223372036854775808");
  EXPECT_EQ(read_cells(column_type::int64, {"1", "1.0"}), "bad 1");
  EXPECT_EQ(read_cells(column_type::int64, {"9223372036854775808"}), "bad 0");
  EXPECT_EQ(read_cells(column_type::int64, {"+-5"}), "bad 0");
  EXPECT_EQ(read_cells(column_type::float64, {"01", "nan"}), "1 nan");
  EXPECT_EQ(read_cells(column_type::boolean,
                       {"true", "NO", "1", "0", "Yes", "", "False"}),
            "true false true false true null false");
  EXPECT_EQ(read_cells(column_type::boolean, {"2"}), "bad 0");
  EXPECT_EQ(read_cells(column_type::date, {"2026-01-31", ""}),
            "2026-01-31 null");
  EXPECT_EQ(read_cells(column_type::date, {"2026-01-31", "2026-02-30"}),
            "bad 1");
  EXPECT_EQ(read_cells(column_type::date, {"31.01.2026"}), "bad 0");
  EXPECT_EQ(read_cells(column_type::timestamp,
                       {"2026-01-31 12:00:01.5", "2026-01-31T12:00:00+02:00"}),
            "2026-01-31 12:00:01.500000 2026-01-31 10:00:00.000000");
  EXPECT_EQ(read_cells(column_type::timestamp, {"12:00"}), "bad 0");
  EXPECT_EQ(read_cells(column_type::text, {"01", ""}), "01 null");
}

TEST(cells, lose_nothing_by_a_type_that_is_found) {
  EXPECT_EQ(read_cells(column_type::int64, {"5", "007"}, true), "bad 1");
  EXPECT_EQ(read_cells(column_type::int64, {"-0"}, true), "bad 0");
  EXPECT_EQ(read_cells(column_type::int64, {"9007199254740993"}, true),
            "9007199254740993");
  EXPECT_EQ(read_cells(column_type::float64, {"9007199254740993"}, true),
            "bad 0");
  EXPECT_EQ(read_cells(column_type::float64, {"1.5", "01.5"}, true), "bad 1");
  EXPECT_EQ(read_cells(column_type::float64, {"1e400"}, true), "bad 0");
  EXPECT_EQ(read_cells(column_type::float64, {"-0", "1e22", "7"}, true),
            "-0 1e+22 7");
}

TEST(misfit, says_what_to_put_into_the_job) {
  const auto said = [](column_type type, bool exact, const char* cell) {
    return misfit_text({type, exact, !exact}, cell, "a \"b\"", "/data/train");
  };
  EXPECT_EQ(said(column_type::int64, true, "1.5"),
            "expected a whole number (int64) as in the first rows, found a "
            "number that is written otherwise; put \"columns\": "
            "{\"a \\\"b\\\"\":\"float64\"} into /data/train (or \"text\", to "
            "keep it as it is written)");
  EXPECT_THAT(said(column_type::int64, true, "007"),
              HasSubstr("zeros in front; put \"columns\": {\"a "
                        "\\\"b\\\"\":\"text\"} into /data/train"));
  EXPECT_THAT(said(column_type::float64, true, "secret"),
              HasSubstr("found text of 6 characters; put \"columns\": {\"a "
                        "\\\"b\\\"\":\"text\"}"));
  EXPECT_EQ(said(column_type::date, false, "secret"),
            "expected a date such as 2026-01-31, found text of 6 characters; "
            "correct the cell, or the type in /data/train/columns");
}

TEST(stated_types, must_name_columns) {
  try {
    check_stated({{"prise", column_type::text}}, {"id", "price"}, "a.csv",
                 "/data/train");
    ADD_FAILURE() << "was taken";
  } catch (const ballast_error& error) {
    EXPECT_STREQ(error.what(), "/data/train/columns: a.csv has no column "
                               "'prise'; did you mean 'price'?");
    EXPECT_EQ(error.what_failed().pointer, "/data/train/columns");
  }
  check_stated({{"id", column_type::text}}, {"id"}, "a.csv", "/data/train");
}

} // namespace
} // namespace ballast::data
