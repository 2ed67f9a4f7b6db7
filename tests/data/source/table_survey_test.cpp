#include "data/source/table_survey.hpp"

#include "runtime/base/errors.hpp"
#include "tests/data/source_builders.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace ballast::data {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class a_survey : public ::testing::Test {
public:
  table_survey of(const std::string& text,
                  const std::vector<std::string>& features = {}) {
    source_ = table_source(source_format::csv, folder_.write("t.csv", text),
                           "y", features);
    return survey(source_, {});
  }
  json fix(const table_survey& found) const { return fix_of(source_, found); }

  temporary_folder folder_;
  source_spec source_;
};

TEST_F(a_survey, says_how_each_column_is_used) {
  const table_survey found = of("x,city,y\n1,rome,0\n2.5,oslo,1\n");
  EXPECT_EQ(found.rows, 2u);
  ASSERT_EQ(found.columns.size(), 3u);
  EXPECT_EQ(found.columns[0].use, column_use::feature);
  EXPECT_EQ(found.columns[1].use, column_use::left_out);
  EXPECT_EQ(found.columns[2].use, column_use::label);
  EXPECT_TRUE(found.clean());
  EXPECT_EQ(fix(found), json());
  const std::string said = describe(found, {});
  EXPECT_THAT(said, HasSubstr("numbers, 1 to 2.5"));
  EXPECT_THAT(said, HasSubstr("2 texts, such as 'oslo'"));
}

TEST_F(a_survey, names_everything_that_is_wrong_at_once) {
  const table_survey found = of("a,b,c,y\n1,,nan,0\nNA,2,3,1\n3,4,5,\n");
  EXPECT_FALSE(found.clean());
  EXPECT_THAT(found.columns[0].problems,
              ElementsAre(HasSubstr("1 cell with text ('NA'), the first in")));
  EXPECT_THAT(found.columns[0].problems[0], HasSubstr("t.csv: row 2 (line 3)"));
  EXPECT_THAT(found.columns[1].problems,
              ElementsAre(HasSubstr("1 cell without a value, the first in")));
  EXPECT_THAT(found.columns[2].problems,
              ElementsAre(HasSubstr("1 cell with NaN")));
  EXPECT_THAT(found.columns[3].problems,
              ElementsAre(HasSubstr("1 cell without a value")));
}

TEST_F(a_survey, names_the_row_that_is_none) {
  try {
    of("x,y\n1,0\n2\n");
    ADD_FAILURE() << "was taken";
  } catch (const ballast_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("row 2 (line 3) has 1 column,"));
  }
}

TEST_F(a_survey, checks_the_types_that_the_job_states) {
  source_ = table_source(source_format::csv,
                         folder_.write("t.csv",
                                       "when,paid,id,y\n2026-01-31,yes,01,0\n"
                                       "soon,no,2,1\n,maybe,3,0\n"),
                         "y", {});
  source_.columns = {{"when", "date"}, {"paid", "bool"}, {"id", "text"}};
  const table_survey found = survey(source_, {});
  EXPECT_TRUE(found.columns[0].problems.empty()); // nobody uses it
  EXPECT_EQ(found.columns[0].misfits, 1u);
  EXPECT_THAT(found.columns[1].problems,
              ElementsAre(HasSubstr("1 cell with text ('maybe')")));
  EXPECT_EQ(found.columns[2].use, column_use::left_out);
  EXPECT_TRUE(found.columns[2].problems.empty());
}

TEST_F(a_survey, offers_a_change_with_which_the_data_can_be_read) {
  const table_survey found =
      of("a,b,c,y\n1,7,nan,0\nNA,2,3,1\n3,4,5,\n4,5,6,1\n5,,7,0\n6,7,8,0\n");
  const json change = fix(found);
  EXPECT_EQ(change["null_values"], json({"NA"}));
  source_.null_values = change["null_values"];
  source_.where = change["where"];
  const source_table sound = read_source(source_, {});
  EXPECT_THAT(sound.taken_rows, ElementsAre(3, 5));
  EXPECT_THAT(sound.labels, ElementsAre(1, 0));
}

TEST_F(a_survey,
       offers_to_leave_out_a_column_of_text_that_begins_with_numbers) {
  std::string rows = "a,free,y\n";
  for (int i = 0; i < 20; ++i)
    rows += std::to_string(i) + "," +
            (i == 0 ? "17" : "text " + std::to_string(i)) + "," +
            std::to_string(i % 2) + "\n";
  const table_survey found = of(rows);
  const json change = fix(found);
  EXPECT_EQ(change, json({{"features", {"a"}}}));
  source_.features = change["features"];
  EXPECT_EQ(read_source(source_, {}).rows, 20u);
}

TEST_F(a_survey, finds_numbers_in_a_column_that_a_run_would_leave_out) {
  const table_survey found = of("a,b,y\n1,NA,0\n2,5,1\n");
  EXPECT_THAT(found.columns[1].problems,
              ElementsAre(HasSubstr("1 cell with numbers")));
}

TEST_F(a_survey, takes_text_for_classes_and_finds_labels_that_are_none) {
  EXPECT_TRUE(of("x,y\n1,pear\n2,fig\n").clean());
  EXPECT_THAT(of("x,y\n1,0.5\n2,1\n").columns[1].problems,
              ElementsAre(HasSubstr("no classes")));
  EXPECT_THAT(of("x,y\n1,1\n2,1\n").columns[1].problems,
              ElementsAre(HasSubstr("the same label")));
}

TEST_F(a_survey, names_a_column_of_the_job_that_is_not_there) {
  try {
    of("x,y\n1,0\n2,1\n", {"z"});
    FAIL();
  } catch (const ballast_error& e) {
    EXPECT_THAT(e.what(), HasSubstr("no column 'z'"));
  }
}

TEST_F(a_survey, looks_at_the_rows_that_the_job_takes) {
  folder_.write("t.csv", "a,b,y\n1,x,0\n,y,1\n3,x,1\nno,z,0\n");
  source_ = table_source(source_format::csv, (folder_ / "t.csv").string(), "y");
  source_.where = "b = 'x'";
  const table_survey found = survey(source_, {});
  EXPECT_EQ(found.rows, 2u);
  EXPECT_TRUE(found.clean());
}

TEST_F(a_survey, is_json_for_programs) {
  const table_survey found = of("a,y\n1,0\n,1\n");
  const json out = to_json(found, fix(found));
  EXPECT_EQ(out["rows"], 2);
  EXPECT_EQ(out["columns"][0]["missing"], 1);
  EXPECT_EQ(out["fix"]["where"], "a is not null");
}

} // namespace
} // namespace ballast::data
