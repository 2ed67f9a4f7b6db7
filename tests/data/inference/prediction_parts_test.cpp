// Goal: parts of answers are found again by the same work alone, and a damaged
// one is none. Method: a folder, filled, reopened and spoilt.
#include "data/inference/prediction_parts.hpp"

#include "runtime/base/errors.hpp"
#include "tests/store/temp_folder.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <memory>

namespace ballast::data {
namespace {

constexpr part_number third{3};

class parts_of_answers : public testing::Test {
protected:
  std::filesystem::path place() const { return folder_ / "out.csv.parts"; }
  std::unique_ptr<prediction_parts> open(const std::string& whose) const {
    return std::make_unique<prediction_parts>(place(), whose);
  }
  errc refused() const {
    try {
      open("a");
    } catch (const ballast_error& error) {
      return error.what_failed().code;
    }
    return errc::none;
  }
  store::temp_folder folder_;
  const std::vector<float> answers_{0.25F, 0.75F, 1, 0};
};

TEST_F(parts_of_answers, outlive_their_process) {
  write_answers(open("a")->answers_file(third), answers_, 2);
  EXPECT_EQ(open("a")->answers(third, 2, 2), answers_);
  EXPECT_EQ(open("a")->answers(part_number(2), 2, 2), std::nullopt);
}

TEST_F(parts_of_answers, are_not_those_of_another_model) {
  write_answers(open("a")->answers_file(third), answers_, 2);
  EXPECT_EQ(open("b")->answers(third, 2, 2), std::nullopt);
  EXPECT_EQ(open("a")->answers(third, 2, 2), std::nullopt);
}

TEST_F(parts_of_answers, count_only_if_they_are_whole) {
  const auto parts = open("a");
  const std::filesystem::path file = parts->answers_file(third);
  write_answers(file, answers_, 2);
  EXPECT_EQ(parts->answers(third, 3, 2), std::nullopt); // of other rows
  {
    std::fstream spoilt(file, std::ios::in | std::ios::out | std::ios::binary);
    spoilt.seekp(-1, std::ios::end);
    spoilt.put(1);
  }
  EXPECT_EQ(parts->answers(third, 2, 2), std::nullopt);
  std::filesystem::resize_file(file, 20);
  EXPECT_EQ(parts->answers(third, 2, 2), std::nullopt);
  write_answers(file, answers_, 2);
  EXPECT_EQ(parts->answers(third, 2, 2), answers_);
}

TEST_F(parts_of_answers, are_filled_by_one_process_at_a_time) {
  const auto parts = open("a");
  EXPECT_EQ(refused(), errc::run_dir_in_use);
}

TEST_F(parts_of_answers, leave_a_folder_of_somebody_else_alone) {
  std::filesystem::create_directory(place());
  std::ofstream(place() / "thesis.txt") << "do not lose";
  EXPECT_EQ(refused(), errc::usage);
  EXPECT_TRUE(std::filesystem::exists(place() / "thesis.txt"));
}

TEST_F(parts_of_answers, go_with_their_folder) {
  const auto parts = open("a");
  write_answers(parts->answers_file(third), answers_, 2);
  parts->remove();
  EXPECT_FALSE(std::filesystem::exists(place()));
}

TEST_F(parts_of_answers, have_rows_that_another_process_reads) {
  const auto parts = open("a");
  const labelled_features rows{2, {1, 2, 3, 4, 5, 6}, {0, 1}};
  parts->write_rows(third, rows);
  const labelled_features read = read_rows(parts->rows_file(third));
  EXPECT_EQ(read.rows, 2u);
  EXPECT_EQ(read.features, rows.features);
  EXPECT_EQ(read.labels, rows.labels);
  parts->remove_rows(third);
  EXPECT_FALSE(std::filesystem::exists(parts->rows_file(third)));
}

TEST(rows_of_part, depend_on_the_width_alone_and_have_limits) {
  EXPECT_EQ(rows_of_part(1), 16384u);
  EXPECT_EQ(rows_of_part(784), 2674u);
  EXPECT_EQ(rows_of_part(3 * 224 * 224), 256u);
}

} // namespace
} // namespace ballast::data
