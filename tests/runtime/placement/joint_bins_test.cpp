// Goal: rows are counted by the values of any columns, alone and together, so
// that balance can go by them. Method: columns whose bins are known.
#include "runtime/placement/joint_bins.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <numeric>

namespace ballast::placement {
namespace {

using ::testing::ElementsAre;

kept_column column_of(const std::vector<std::string>& texts) {
  kept_column out{"", {}, texts};
  out.cells.resize(texts.size());
  std::iota(out.cells.begin(), out.cells.end(), 0u);
  kept_column distinct;
  append(distinct, out); // equal texts under one number
  return distinct;
}

std::vector<uint64_t> first(uint64_t rows) {
  std::vector<uint64_t> out(rows);
  std::iota(out.begin(), out.end(), uint64_t{0});
  return out;
}

joint_bins bins_of(const std::vector<kept_column>& columns, uint64_t rows) {
  return bins_of_columns(columns, first(rows));
}

TEST(joint_bins, gives_every_text_of_a_column_a_bin) {
  const joint_bins out =
      bins_of({column_of({"north", "south", "north", "", "south"})}, 5);
  EXPECT_EQ(out.count, 3u);
  EXPECT_EQ(out.of_row[0], out.of_row[2]);
  EXPECT_EQ(out.of_row[1], out.of_row[4]);
  EXPECT_NE(out.of_row[3], out.of_row[0]); // missing is a value
}

TEST(joint_bins, cuts_many_numbers_into_bins_of_equally_many_rows) {
  std::vector<std::string> lengths;
  for (int row = 0; row < 320; ++row)
    lengths.push_back(std::to_string(row * 37 % 320));
  const joint_bins out = bins_of({column_of(lengths)}, 320);
  ASSERT_EQ(out.count, 16u);
  std::vector<int> rows(16);
  for (int32_t bin : out.of_row)
    ++rows[size_t(bin)];
  EXPECT_THAT(rows, ::testing::Each(20));
}

TEST(joint_bins, takes_numbers_as_numbers_however_they_are_written) {
  const joint_bins out = bins_of({column_of({"1", "1.0", "2", "nan", ""})}, 5);
  EXPECT_EQ(out.count, 3u);
  EXPECT_EQ(out.of_row[0], out.of_row[1]);
  EXPECT_EQ(out.of_row[3], out.of_row[4]);
}

TEST(joint_bins, takes_odd_numbers_and_words_for_missing_beside_numbers) {
  const joint_bins out = bins_of(
      {column_of({"+5", "5", "1e400", "inf", "1e-400", "0", "NA", "null"})}, 8);
  EXPECT_EQ(out.count, 4u); // 0, 5, infinite, missing
  EXPECT_EQ(out.of_row[0], out.of_row[1]);
  EXPECT_EQ(out.of_row[2], out.of_row[3]);
  EXPECT_EQ(out.of_row[4], out.of_row[5]);
  EXPECT_EQ(out.of_row[6], out.of_row[7]);
}

TEST(joint_bins, takes_every_nan_for_missing) {
  const joint_bins out =
      bins_of({column_of({"1.5", "nan", "-nan", "Nan", ""})}, 5);
  EXPECT_THAT(out.of_row, ElementsAre(0, 1, 1, 1, 1));
}

TEST(joint_bins, lets_texts_of_rows_to_test_on_cost_none_of_training_its_bin) {
  std::vector<std::string> texts;
  for (uint32_t row = 0; row < texts_max; ++row)
    texts.push_back("user " + std::to_string(row));
  texts.push_back("somebody else");
  const joint_bins out = bins_of({column_of(texts)}, texts_max);
  EXPECT_EQ(out.count, texts_max + 1);
  EXPECT_NE(out.of_row[texts_max - 1], out.of_row[texts_max - 2]);
}

TEST(joint_bins, takes_the_same_words_for_values_beside_text) {
  EXPECT_EQ(bins_of({column_of({"NA", "EU", "none"})}, 3).count, 3u);
  EXPECT_EQ(bins_of({column_of({"NA", "none"})}, 2).count, 2u);
}

TEST(joint_bins, lets_only_rows_to_train_on_decide_what_is_a_number) {
  const joint_bins out = bins_of({column_of({"1", "2", "x", "-7"})}, 2);
  EXPECT_EQ(out.of_row[1], out.of_row[3] + 1);
  EXPECT_EQ(out.count, 3u); // what is missing was not met in training
}

TEST(joint_bins, counts_only_combinations_that_occur) {
  const joint_bins out = bins_of(
      {column_of({"a", "a", "b", "b"}), column_of({"0", "1", "1", "1"})}, 4);
  EXPECT_EQ(out.count, 3u);
  EXPECT_EQ(out.of_row[2], out.of_row[3]);
}

TEST(joint_bins, puts_what_no_row_to_train_on_has_into_a_bin_of_its_own) {
  const joint_bins out = bins_of({column_of({"a", "b", "c", "a"})}, 2);
  EXPECT_THAT(out.of_row, ElementsAre(0, 1, 2, 0));
  EXPECT_EQ(out.count, 3u);
}

TEST(joint_bins, keeps_the_most_frequent_of_a_thousand_texts) {
  std::vector<std::string> texts;
  for (int row = 0; row < 3000; ++row)
    texts.push_back("user " + std::to_string(row < 1000 ? row : row % 40));
  const joint_bins out = bins_of({column_of(texts)}, 3000);
  EXPECT_EQ(out.count, texts_max);
  EXPECT_NE(out.of_row[3], out.of_row[39]);
  EXPECT_EQ(out.of_row[300], out.of_row[999]);
}

TEST(joint_bins, counts_more_combinations_than_a_chunk_can_list) {
  std::vector<std::string> a, b, c;
  for (int row = 0; row < 20'000; ++row) {
    a.push_back("a" + std::to_string(row % 60));
    b.push_back("b" + std::to_string(row / 60 % 60));
    c.push_back("c" + std::to_string(row / 3600));
  }
  const joint_bins out =
      bins_of({column_of(a), column_of(b), column_of(c)}, 20'000);
  EXPECT_EQ(out.count, 20'000u);
  EXPECT_TRUE(out.of_row.empty());
}

} // namespace
} // namespace ballast::placement
