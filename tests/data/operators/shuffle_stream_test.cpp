// Goal: a random order that follows from the seed and the number of rows alone.
// Method: the same rows with several sizes of batches and of memory; counts of
// where rows go.
#include "data/operators/shuffle_stream.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "tests/data/operators/little_memory.hpp"
#include "tests/data/operators/made_up_rows.hpp"

#include <set>

namespace ballast::data {
namespace {

std::shared_ptr<arrow::RecordBatch> counted(int64_t rows) {
  return with_origin(
      arrow::RecordBatch::Make(arrow::schema({}), rows, arrow::ArrayVector()));
}

std::vector<uint64_t> origins(const arrow::RecordBatch& rows) {
  const auto& column = static_cast<const arrow::UInt64Array&>(
      *rows.GetColumnByName(origin_column));
  return {column.raw_values(), column.raw_values() + column.length()};
}

TEST(shuffle_stream, does_not_depend_on_memory_or_batches) {
  const spill_folder folder;
  const auto rows = many_rows(700'000, 1000);
  const auto expected =
      all_of(shuffle_rows(stream_of(rows), folder.context(1 << 30)));
  EXPECT_EQ(expected->num_rows(), rows->num_rows());
  for (const int64_t at_once : {1000, 70'001})
    expect_in_little_memory(
        rows, *expected,
        [](auto from, const operator_context& context) {
          return shuffle_rows(std::move(from), context);
        },
        at_once);
}

TEST(shuffle_stream, of_single_rows_is_that_of_one_batch) {
  const spill_folder folder;
  dice random(1);
  const auto rows = some_rows({arrow::utf8()}, 2000, 100, random);
  EXPECT_TRUE(same_rows(
      *all_of(shuffle_rows(stream_of(rows, 1), folder.context(1))),
      *all_of(shuffle_rows(stream_of(rows, 2000), folder.context()))));
}

TEST(shuffle_stream, has_every_row_once_and_another_order_for_another_seed) {
  const spill_folder folder;
  const auto rows = counted(10'000);
  std::set<std::vector<uint64_t>> orders;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    operator_context context = folder.context();
    context.seed = seed;
    const auto order = origins(*all_of(shuffle_rows(stream_of(rows), context)));
    EXPECT_EQ(std::set<uint64_t>(order.begin(), order.end()).size(), 10'000u);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 5u);
}

TEST(shuffle_stream, keeps_the_order_of_a_seed_for_ever) {
  const spill_folder folder;
  EXPECT_THAT(
      origins(*all_of(shuffle_rows(stream_of(counted(6)), folder.context()))),
      testing::ElementsAre(2, 5, 4, 3, 1, 0));
}

TEST(shuffle_stream, brings_each_row_to_each_place_equally_often) {
  const spill_folder folder;
  constexpr int rows = 5;
  constexpr int rounds = 5000;
  int count[rows][rows] = {};
  for (int round = 0; round < rounds; ++round) {
    operator_context context = folder.context();
    context.seed = uint64_t(round);
    const auto order =
        origins(*all_of(shuffle_rows(stream_of(counted(rows)), context)));
    for (int place = 0; place < rows; ++place)
      ++count[place][order[size_t(place)]];
  }
  double chi = 0; // 16 degrees of freedom: above 40 once in a thousand
  const double expected = double(rounds) / double(rows);
  for (const auto& row : count)
    for (const int one : row)
      chi += (one - expected) * (one - expected) / expected;
  EXPECT_LT(chi, 40);
}

TEST(shuffle_stream, of_no_rows_has_none) {
  const spill_folder folder;
  EXPECT_EQ(shuffle_rows(stream_of(counted(0)), folder.context())->next(),
            nullptr);
}

TEST(shuffle_stream, says_that_the_disk_is_full_and_leaves_no_file) {
  const spill_folder folder;
  ASSERT_STREQ(arm_fault_points("spill.write=enospc@5"), "");
  try {
    all_of(shuffle_rows(stream_of(many_rows(20'000, 10)),
                        folder.context(1 << 18)));
    ADD_FAILURE() << "no error";
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().code, errc::disk_full);
  }
  arm_fault_points("");
}

} // namespace
} // namespace ballast::data
