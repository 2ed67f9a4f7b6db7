// Goal: a sample of a stream of unknown length that follows from the seed and
// the rows alone. Method: the same rows in batches of any size and in little
// memory; counts over many seeds.
#include "data/operators/sample_stream.hpp"

#include "runtime/base/errors.hpp"
#include "tests/data/operators/little_memory.hpp"
#include "tests/data/operators/made_up_rows.hpp"

#include <map>
#include <set>

namespace ballast::data {
namespace {

using ::testing::HasSubstr;

std::vector<uint64_t> origins_of(const arrow::RecordBatch& rows) {
  const auto& column = static_cast<const arrow::UInt64Array&>(
      *rows.GetColumnByName(origin_column));
  return {column.raw_values(), column.raw_values() + column.length()};
}

/// 1000 rows: `kind` is 0 for 900, 1 for 90, null for 10; `w` the row's number.
std::shared_ptr<arrow::RecordBatch> three_kinds() {
  arrow::Int64Builder kind;
  arrow::DoubleBuilder weight;
  for (int row = 0; row < 1000; ++row) {
    EXPECT_TRUE((row % 100 == 99 ? kind.AppendNull()
                                 : kind.Append(row % 10 == 5 ? 1 : 0))
                    .ok());
    EXPECT_TRUE(weight.Append(row).ok());
  }
  return with_origin(arrow::RecordBatch::Make(
      arrow::schema({arrow::field("kind", arrow::int64()),
                     arrow::field("w", arrow::float64())}),
      1000, {kind.Finish().ValueOrDie(), weight.Finish().ValueOrDie()}));
}

std::string failure_of(const std::shared_ptr<arrow::RecordBatch>& rows,
                       const sample_terms& terms,
                       const operator_context& context) {
  try {
    all_of(sampled_rows(stream_of(rows), terms, context));
  } catch (const ballast_error& error) {
    return error.what_failed().pointer + ": " + error.what();
  }
  return "";
}

TEST(sample_stream, keeps_so_many_rows_in_their_order) {
  const spill_folder folder;
  const auto rows = three_kinds();
  const auto got = origins_of(
      *all_of(sampled_rows(stream_of(rows), {50}, folder.context())));
  EXPECT_EQ(got.size(), 50u);
  EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
  EXPECT_EQ(std::set(got.begin(), got.end()).size(), 50u);
  EXPECT_EQ(all_of(sampled_rows(stream_of(rows), {1000}, folder.context()))
                ->num_rows(),
            1000);
  EXPECT_EQ(all_of(sampled_rows(stream_of(rows), {5000}, folder.context()))
                ->num_rows(),
            1000);
  EXPECT_EQ(
      all_of(sampled_rows(stream_of(rows->Slice(0, 0)), {5}, folder.context()))
          ->num_rows(),
      0);
}

TEST(sample_stream, does_not_depend_on_memory_or_batches) {
  const spill_folder folder;
  const auto rows = many_rows(300'000, 10);
  for (const sample_terms& terms :
       {sample_terms{3000}, sample_terms{200, "a"}, sample_terms{3000, "", "b"},
        sample_terms{200, "a", "b"}}) {
    const auto make = [&](auto from, const operator_context& context) {
      return sampled_rows(std::move(from), terms, context);
    };
    const auto expected = all_of(make(stream_of(rows), folder.context()));
    EXPECT_GT(expected->num_rows(), 1500);
    for (const int64_t at_once : {777, 70'001})
      expect_in_little_memory(rows, *expected, make, at_once);
  }
}

TEST(sample_stream, has_so_many_of_each_value_missing_ones_too) {
  const spill_folder folder;
  const auto got = all_of(
      sampled_rows(stream_of(three_kinds()), {20, "kind"}, folder.context()));
  std::map<std::string, int> counts;
  for (int64_t row = 0; row < got->num_rows(); ++row)
    ++counts[got->column(0)->GetScalar(row).ValueOrDie()->ToString()];
  EXPECT_EQ(counts,
            (std::map<std::string, int>{{"0", 20}, {"1", 20}, {"null", 10}}));
}

TEST(sample_stream, takes_each_row_equally_often_or_by_its_weight) {
  const spill_folder folder;
  const auto rows = three_kinds();
  double sum = 0, weighted = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    operator_context context = folder.context();
    context.seed = seed;
    for (uint64_t row :
         origins_of(*all_of(sampled_rows(stream_of(rows), {10}, context))))
      sum += double(row) / 3000;
    for (uint64_t row : origins_of(
             *all_of(sampled_rows(stream_of(rows), {10, "", "w"}, context)))) {
      weighted += double(row) / 3000;
      EXPECT_GT(row, 0u); // its weight is 0
    }
  }
  // Means of 3000; the deviation of one is 289, with weights 236.
  EXPECT_NEAR(sum, 499.5, 25);
  EXPECT_NEAR(weighted, 665, 25);
}

TEST(sample_stream, other_seeds_choose_others_and_a_seed_the_same_for_ever) {
  const spill_folder folder;
  operator_context context = folder.context();
  const auto of_seed = [&](uint64_t seed) {
    context.seed = seed;
    return origins_of(
        *all_of(sampled_rows(stream_of(three_kinds()), {4}, context)));
  };
  EXPECT_NE(of_seed(1), of_seed(2));
  EXPECT_EQ(of_seed(1), of_seed(1));
}

TEST(sample_stream, refuses_what_is_no_weight_with_its_row) {
  const spill_folder folder;
  const arrow::FieldVector fields{arrow::field("w", arrow::float64()),
                                  arrow::field("t", arrow::utf8())};
  for (const auto& [bad, told] :
       {std::pair{"-2", "the weight is -2"}, {"null", "the weight is missing"}})
    EXPECT_THAT(failure_of(rows_of(fields, std::string("[[1, \"a\"], [") + bad +
                                               ", \"b\"]]"),
                           {1, "", "w"}, folder.context()),
                testing::AllOf(HasSubstr("/data/graph/2/weight"),
                               HasSubstr("row 2, column 'w'"), HasSubstr(told),
                               HasSubstr("a number of 0 or more")));
  EXPECT_THAT(failure_of(rows_of(fields, "[[1, \"a\"]]"), {1, "", "t"},
                         folder.context()),
              HasSubstr("expected a column of numbers"));
  EXPECT_THAT(failure_of(rows_of(fields, "[[1, \"a\"]]"), {1, "", "ww"},
                         folder.context()),
              HasSubstr("did you mean"));
}

TEST(sample_stream, says_that_all_weights_are_zero) {
  const spill_folder folder;
  const arrow::FieldVector fields{arrow::field("w", arrow::float64())};
  EXPECT_THAT(
      failure_of(rows_of(fields, "[[0], [0]]"), {1, "", "w"}, folder.context()),
      testing::AllOf(HasSubstr("/data/graph/2/weight"),
                     HasSubstr("all 2 rows in column 'w' are 0")));
}

TEST(sample_stream, refuses_more_rows_than_its_memory_holds) {
  const spill_folder folder;
  EXPECT_THAT(
      failure_of(many_rows(100'000, 10), {100'000}, folder.context(1 << 20)),
      testing::AllOf(HasSubstr("/data/graph/2/rows"), HasSubstr("keep fewer")));
}

} // namespace
} // namespace ballast::data
