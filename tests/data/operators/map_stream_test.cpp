// Goal: an operator of a user's library gives its rows with their origins, the
// same with any number of threads; whatever it does wrong, and can be seen
// before it is used, is one line that names it. Method: a library of operators
// that do right, and of one that does wrong as it is told.
#include "data/operators/map_stream.hpp"

#include "tests/data/operators/made_up_rows.hpp"
#include "tests/data/source/stream_tester.hpp"

#include <dlfcn.h>
#include <fstream>

namespace ballast::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

std::string library_beside(const std::string& name) {
  Dl_info here{};
  dladdr(reinterpret_cast<const void*>(&library_beside), &here);
  return (fs::absolute(here.dli_fname).parent_path() / name).string();
}

class map_test : public testing::Test {
protected:
  static map_terms terms(const std::string& function,
                         const std::string& options = "{}") {
    map_terms out;
    out.library = library_beside("libuser_operators.so");
    out.function = function;
    out.options = options;
    return out;
  }
  static std::shared_ptr<arrow::RecordBatch> five() {
    return data::rows_of(
        {arrow::field("x", arrow::int64()), arrow::field("t", arrow::utf8())},
        R"([{"x": 1, "t": "a"}, {"x": 2, "t": "b"},
                             {"x": 3, "t": "c"}, {"x": 4, "t": "d"},
                             {"x": 7, "t": "e"}])");
  }
  stream_pointer mapped(const map_terms& how) const {
    return map_rows(stream_of(five()), how, folder_.context());
  }
  std::string refusal(const map_terms& how) const {
    return refusal_of([&] { all_of(mapped(how)); });
  }
  std::string refusal(const std::string& option) const {
    return refusal(terms("broken", "{\"how\":\"" + option + "\"}"));
  }

  const spill_folder folder_;
};

const std::string who =
    "/data/graph/2: the node (broken of libuser_operators.so): ";

TEST_F(map_test, adds_its_columns_to_those_that_came) {
  EXPECT_THAT(
      lines_of(*all_of(mapped(terms("twice")))),
      ElementsAre("1 a 2 0", "2 b 4 1", "3 c 6 2", "4 d 8 3", "7 e 14 4"));
}

TEST_F(map_test, gives_only_its_own_columns_where_it_is_told_to) {
  map_terms how = terms("twice");
  how.keep = false;
  EXPECT_THAT(lines_of(*all_of(mapped(how))),
              ElementsAre("2 0", "4 1", "6 2", "8 3", "14 4"));
}

TEST_F(map_test, puts_a_column_into_the_place_of_one_with_its_name) {
  map_terms how = terms("told");
  const auto rows = data::rows_of(
      {arrow::field("told", arrow::int64()), arrow::field("x", arrow::int64())},
      R"([{"told": 1, "x": 2}])");
  const auto out = all_of(map_rows(stream_of(rows), how, folder_.context()));
  EXPECT_THAT(lines_of(*out), ElementsAre("{} told x 2 0"));
  EXPECT_EQ(out->schema()->field(0)->name(), "told");
}

TEST_F(map_test, is_told_its_options_and_given_its_columns) {
  map_terms how = terms("told", R"({"a":[1,{"b":null}]})");
  how.columns = {"t", "x"};
  how.keep = false;
  EXPECT_THAT(lines_of(*all_of(mapped(how)))[0],
              R"({"a":[1,{"b":null}]} t x 0)");
}

TEST_F(map_test, makes_none_or_several_rows_of_one) {
  EXPECT_THAT(lines_of(*all_of(mapped(terms("spread")))),
              ElementsAre("1 a 0 0", "2 b 0 1", "2 b 1 1", "3 c 0 2", "3 c 1 2",
                          "3 c 2 2", "7 e 0 4", "7 e 1 4", "7 e 2 4"));
}

TEST_F(map_test, gives_the_columns_that_are_wanted) {
  const auto rows = mapped(terms("spread"));
  rows->choose({2, 1});
  EXPECT_THAT(lines_of(*all_of(rows)), testing::Contains("2 e").Times(1));
}

TEST_F(map_test, gives_the_same_rows_with_any_number_of_threads) {
  arrow::Int64Builder x;
  for (int64_t i = 0; i < 100'000; ++i)
    ASSERT_TRUE(x.Append(i * 7 % 1001).ok());
  const auto rows = with_origin(arrow::RecordBatch::Make(
      arrow::schema({arrow::field("x", arrow::int64())}), 100'000,
      {x.Finish().ValueOrDie()}));
  map_terms how = terms("spread");
  how.threads = 1;
  const auto one = all_of(map_rows(stream_of(rows), how, folder_.context()));
  for (const size_t threads : {2, 7})
    for (const uint64_t at_once : {64, 4096}) {
      how.threads = threads;
      how.rows = at_once;
      EXPECT_TRUE(same_rows(
          *all_of(map_rows(stream_of(rows, 3000), how, folder_.context())),
          *one));
    }
}

TEST_F(map_test, names_the_first_mistake_with_any_number_of_threads) {
  arrow::Int64Builder x;
  for (int64_t i = 0; i < 50'000; ++i)
    ASSERT_TRUE(x.Append(i > 20'000 && i % 3 == 0 ? -1 : i).ok());
  const auto rows = with_origin(arrow::RecordBatch::Make(
      arrow::schema({arrow::field("x", arrow::int64())}), 50'000,
      {x.Finish().ValueOrDie()}));
  map_terms how = terms("spread");
  for (const size_t threads : {1, 2, 7}) {
    how.threads = threads;
    how.rows = 100;
    EXPECT_THAT(refusal_of([&] {
                  all_of(map_rows(stream_of(rows), how, folder_.context()));
                }),
                HasSubstr("row 20002, column 'x': it refuses this (expected "
                          "no negative number)"));
  }
}

TEST_F(map_test, keeps_its_state_from_batch_to_batch) {
  map_terms how = terms("count");
  how.rows = 2;
  how.keep = false;
  how.threads = 7;
  EXPECT_THAT(lines_of(*all_of(mapped(how))),
              ElementsAre("0 0", "1 1", "2 2", "3 3", "4 4"));
}

TEST_F(map_test, names_file_and_row_of_what_it_refuses) {
  const auto rows = data::rows_of({arrow::field("x", arrow::int64())},
                                  R"([{"x": 1}, {"x": null}])");
  operator_context how = folder_.context();
  const auto origins = std::make_shared<row_origins>();
  origins->opened(0, "/data/a.csv", 0);
  how.origins = origins;
  EXPECT_EQ(refusal_of([&] {
              all_of(map_rows(stream_of(rows), terms("twice"), how));
            }),
            "/data/graph/2: the node (twice of libuser_operators.so): "
            "/data/a.csv: row 2, column 'x': it refuses this (expected a "
            "number)");
}

TEST_F(map_test, says_what_stands_against_a_library) {
  map_terms how = terms("twice");
  how.library = "/nowhere/libmine.so";
  EXPECT_EQ(refusal(how),
            "/data/graph/2/library: /nowhere/libmine.so cannot be read (No "
            "such file or directory); expected the file of a library of "
            "operators");
  how.library = folder_.path().string();
  EXPECT_THAT(refusal(how), HasSubstr("is no file of at most 1 GiB"));
  how.library = library_beside("liblater_operators.so");
  EXPECT_THAT(refusal(how),
              HasSubstr("was built for version 2 of "
                        "include/ballast/operator.h, this program has version "
                        "1; build it again"));
  how.library = library_beside("libfake_nvml.so");
  EXPECT_THAT(refusal(how), HasSubstr("is no library of operators: it has no "
                                      "'ballast_operators'"));
  const fs::path text = fs::path(testing::TempDir()) / "libtext.so";
  std::ofstream(text) << "no library";
  how.library = text.string();
  EXPECT_THAT(
      refusal(how),
      has_all({"/data/graph/2/library: ", "libtext.so cannot be loaded (it: ",
               "g++ -shared -fPIC"}));
  fs::remove(text);
}

TEST_F(map_test, names_the_operator_that_is_nearest) {
  EXPECT_THAT(refusal(terms("twise")),
              has_all({"/data/graph/2/function: ",
                       "libuser_operators.so has no operator 'twise'; did you "
                       "mean 'twice'?"}));
  EXPECT_THAT(refusal(terms("something")),
              HasSubstr("; it has 'twice', 'spread', 'count', "));
  map_terms how = terms("twice");
  how.columns = {"xx"};
  EXPECT_THAT(refusal(how), HasSubstr("/data/graph/2/columns: there is no "
                                      "column 'xx'; did you mean 'x'?"));
}

TEST_F(map_test, names_what_an_operator_refuses_of_the_columns) {
  map_terms how = terms("twice");
  how.columns = {"t"};
  EXPECT_EQ(refusal(how),
            "/data/graph/2: the node (twice of libuser_operators.so): column "
            "'x': it refuses this (there is no such column)");
}

TEST_F(map_test, refuses_columns_that_cannot_be) {
  EXPECT_EQ(refusal("open_throws"), who + "it threw an exception (no\\nway)");
  EXPECT_THAT(refusal("open_refuses").substr(0, who.size() + 20),
              who + "it failed (aaaaaaaaa");
  EXPECT_EQ(refusal("open_gives_nothing"), who + "its open() names no columns");
  EXPECT_THAT(refusal("open_types"),
              HasSubstr("column 't': has the type string_view; expected "
                        "numbers, text"));
  EXPECT_THAT(refusal("open_no_type"), HasSubstr("are none of Arrow's ("));
  EXPECT_EQ(refusal("open_two"), who + "column 't': expected a name of its own "
                                       "for each column that comes out");
  EXPECT_THAT(refusal("open_origin"), HasSubstr("column '__origin': expected"));
}

TEST_F(map_test, refuses_rows_that_cannot_be) {
  EXPECT_EQ(refusal("throws"), who + "it threw an exception (out of luck)");
  EXPECT_EQ(refusal("throws_odd"),
            who + "it threw an exception (of a type of its own)");
  EXPECT_EQ(refusal("refuses"), who + "row 2, column 'x': it refuses this "
                                      "(expected\\nsomething else)");
  EXPECT_EQ(refusal("refuses_far"), who + "it failed (no)");
  EXPECT_THAT(refusal("nothing"), HasSubstr("its apply() gives no rows"));
  for (const char* how : {"offsets", "utf8"})
    EXPECT_THAT(refusal(how),
                HasSubstr(who + "column 't': it gives values that are "
                                "damaged"));
  EXPECT_THAT(refusal("lengths"),
              HasSubstr("lengths, offsets or children that cannot be"));
  EXPECT_EQ(refusal("short"), who + "column 't': it gives 4 values for 5 rows");
  EXPECT_EQ(refusal("columns"), who + "it gives 0 columns, its open() named 1");
  EXPECT_THAT(refusal("many"),
              HasSubstr("33554432 rows at once; expected at most 16777216"));
  EXPECT_EQ(refusal("missing"),
            who + "row 2, column 't': it gives a missing value, its open() "
                  "said that there are none");
}

TEST_F(map_test, keeps_what_it_gave_when_it_uses_its_memory_again) {
  map_terms how = terms("again");
  how.rows = 2;
  how.keep = false;
  EXPECT_THAT(lines_of(*all_of(mapped(how))),
              ElementsAre("2 0", "4 1", "6 2", "8 3", "14 4"));
}

TEST_F(map_test, is_named_with_its_column_where_its_memory_is_not_there) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer has a report of its own";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(all_of(mapped(terms("wild"))),
               "wild of libuser_operators.so\\), column 'y' crashed \\(signal "
               "11\\)");
}

TEST_F(map_test, refuses_origins_that_cannot_be) {
  EXPECT_EQ(refusal("fewer"),
            who + "it gives 1 row for 5 rows and does not say which is made "
                  "of which; fill `from`");
  EXPECT_EQ(refusal("from_far"),
            who + "its `from` names row 9 of 5 rows, counted from 0");
  EXPECT_THAT(refusal("from_short"),
              HasSubstr("its `from` has 1 numbers for 5 rows"));
}

} // namespace
} // namespace ballast::data
