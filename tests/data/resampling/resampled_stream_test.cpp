// Goal: the node `resample` gives the rows of resample() with the columns and
// origins of its input, and refuses what cannot be resampled with the row it
// came from. Method: rows in memory, in batches of any size.
#include "data/resampling/resampled_stream.hpp"

#include "runtime/base/errors.hpp"
#include "tests/data/operators/operator_tester.hpp"
#include "tests/data/resampling/some_rows.hpp"

#include <map>

namespace ballast::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// 30 rows "a", 10 rows "b"; `x` and `n` follow from the row's number.
std::shared_ptr<arrow::RecordBatch> two_classes() {
  arrow::DoubleBuilder x;
  arrow::Int32Builder n;
  arrow::StringBuilder y;
  for (int row = 0; row < 40; ++row) {
    const bool few = row % 4 == 1;
    EXPECT_TRUE(x.Append(few ? 100 + row : row * 7 % 40).ok());
    EXPECT_TRUE(n.Append(row).ok());
    EXPECT_TRUE(y.Append(few ? "b" : "a").ok());
  }
  return with_origin(arrow::RecordBatch::Make(
      arrow::schema({arrow::field("x", arrow::float64()),
                     arrow::field("n", arrow::int32()),
                     arrow::field("y", arrow::utf8())}),
      40,
      {x.Finish().ValueOrDie(), n.Finish().ValueOrDie(),
       y.Finish().ValueOrDie()}));
}

std::unique_ptr<record_stream>
resampled_by(const std::string& method, const operator_context& context,
             int64_t rows_at_once = 4096, size_t threads = 1,
             const std::shared_ptr<arrow::RecordBatch>& rows = two_classes()) {
  return resampled_stream(stream_of(rows, rows_at_once),
                          {"y", order_of(method), threads}, context);
}

std::map<std::string, int> classes_of(const arrow::RecordBatch& rows) {
  std::map<std::string, int> out;
  const auto labels = rows.GetColumnByName("y");
  for (int64_t row = 0; row < rows.num_rows(); ++row)
    ++out[labels->GetScalar(row).ValueOrDie()->ToString()];
  return out;
}

TEST(resampled_stream, gives_the_classes_other_shares_and_keeps_the_schema) {
  const spill_folder folder;
  const auto rows = two_classes();
  for (const auto& [method, a, b] :
       std::vector<std::tuple<std::string, int, int>>{
           {"smote", 30, 30},
           {"random_over", 30, 30},
           {"random_under", 10, 10},
           {"tomek_links", 30, 10}}) {
    const auto got = all_of(resampled_by(method, folder.context()));
    EXPECT_EQ(*got->schema(), *rows->schema()) << method;
    EXPECT_EQ(classes_of(*got),
              (std::map<std::string, int>{{"a", a}, {"b", b}}))
        << method;
  }
}

TEST(resampled_stream, says_of_a_made_row_which_row_it_was_made_from) {
  const spill_folder folder;
  const auto got = all_of(resampled_by("smote", folder.context()));
  const auto& origins = static_cast<const arrow::UInt64Array&>(
      *got->GetColumnByName(origin_column));
  for (int64_t row = 0; row < got->num_rows(); ++row) {
    if (row < 40)
      EXPECT_EQ(origins.Value(row), uint64_t(row));
    else
      EXPECT_EQ(origins.Value(row) % 4, 1u) << "a row of the smaller class";
  }
}

TEST(resampled_stream, does_not_depend_on_batches_or_threads) {
  const spill_folder folder;
  const auto expected = all_of(resampled_by("smote", folder.context()));
  for (const int64_t at_once : {1, 7, 40})
    for (const size_t threads : {size_t{1}, size_t{3}})
      EXPECT_TRUE(same_rows(
          *all_of(resampled_by("smote", folder.context(), at_once, threads)),
          *expected));
  operator_context other = folder.context();
  other.seed = uint64_t{1} << 40;
  EXPECT_FALSE(same_rows(*all_of(resampled_by("smote", other)), *expected));
}

TEST(resampled_stream, measures_with_columns_that_do_not_go_on) {
  const spill_folder folder;
  const auto all = all_of(resampled_by("smote", folder.context()));
  auto some = resampled_by("smote", folder.context());
  some->choose({2});
  EXPECT_TRUE(same_rows(*all_of(*some), *all->SelectColumns({2}).ValueOrDie()));
}

TEST(resampled_stream, refuses_rows_with_what_was_expected) {
  const spill_folder folder;
  const arrow::FieldVector fields{arrow::field("x", arrow::float64()),
                                  arrow::field("y", arrow::utf8())};
  const auto refusal = [&](const std::string& json) {
    try {
      all_of(
          resampled_by("smote", folder.context(), 2, 1, rows_of(fields, json)));
    } catch (const ballast_error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(
      refusal(R"([{"x": 1, "y": "a"}, {"x": null, "y": "b"}])"),
      AllOf(HasSubstr("row 2, column 'x'"), HasSubstr("the value is missing")));
  EXPECT_THAT(
      refusal(R"([{"x": 1, "y": "a"}, {"x": 1, "y": null}])"),
      AllOf(HasSubstr("row 2, column 'y'"), HasSubstr("the label is missing")));
  EXPECT_THAT(refusal(R"([{"x": 1, "y": "a"}, {"x": 2, "y": "a"}])"),
              HasSubstr("the node: "));
  EXPECT_THAT(refusal("[]"), HasSubstr("the node: "));
}

TEST(resampled_stream, refuses_more_rows_than_its_memory_holds) {
  const spill_folder folder;
  arrow::DoubleBuilder x;
  arrow::Int32Builder y;
  for (int row = 0; row < 3'000'000; ++row) {
    EXPECT_TRUE(x.Append(row).ok());
    EXPECT_TRUE(y.Append(row % 2).ok());
  }
  const auto rows = with_origin(arrow::RecordBatch::Make(
      arrow::schema({arrow::field("x", arrow::float64()),
                     arrow::field("y", arrow::int32())}),
      3'000'000, {x.Finish().ValueOrDie(), y.Finish().ValueOrDie()}));
  try {
    all_of(
        resampled_by("random_under", folder.context(1 << 20), 65536, 1, rows));
    ADD_FAILURE();
  } catch (const ballast_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("resampling holds all of its rows"));
  }
}

} // namespace
} // namespace ballast::data
