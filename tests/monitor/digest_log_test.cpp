/// Goal: digests.jsonl has the digests of each step once, whoever writes on.
#include "monitor/logs/digest_log.hpp"

#include "runtime/base/errors.hpp"
#include "tests/store/expect_error.hpp"
#include "tests/store/temp_folder.hpp"

#include <fstream>
#include <gtest/gtest.h>

namespace ballast::monitor {
namespace {

TEST(digest_log, gives_back_what_was_written) {
  store::temp_folder folder;
  digest_log log(folder / "digests.jsonl");
  log.append(step_number{50}, {"b", "a"}, {1, 2});
  log.append(step_number{100}, {"b", "a"}, {1, 3});
  const auto found = read_digests(folder / "digests.jsonl");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].step, step_number{50});
  EXPECT_EQ(found[0].tensors[0].first, "b");
  EXPECT_EQ(found[0].tensors[1].second, "0000000000000002");
  EXPECT_EQ(found[0].digest.size(), 16u);
  EXPECT_NE(found[0].digest, found[1].digest);
}

TEST(digest_log, leaves_out_steps_that_the_file_has_also_in_another_life) {
  store::temp_folder folder;
  {
    digest_log log(folder / "d");
    log.append(step_number{50}, {"a"}, {1});
    log.append(step_number{100}, {"a"}, {2});
    log.append(step_number{50}, {"a"}, {1});
  }
  digest_log again(folder / "d");
  again.append(step_number{100}, {"a"}, {2});
  again.append(step_number{150}, {"a"}, {3});
  EXPECT_EQ(read_digests(folder / "d").size(), 3u);
}

// A coordinator died with the reports of step 100, others came to 150.
TEST(digest_log, fills_the_gaps_that_an_earlier_life_left) {
  store::temp_folder folder;
  {
    digest_log log(folder / "d");
    log.append(step_number{50}, {"a"}, {1});
    log.append(step_number{200}, {"a"}, {4});
  }
  {
    digest_log again(folder / "d");
    again.append(step_number{100}, {"a"}, {2});
    again.append(step_number{100}, {"a"}, {2});
    again.append(step_number{150}, {"a"}, {3});
    EXPECT_FAILURE(again.append(step_number{150}, {"a"}, {4}), errc::other_bits,
                   "step 150 is done again");
  }
  digest_log third(folder / "d");
  for (uint64_t step = 50; step <= 250; step += 50)
    third.append(step_number{step}, {"a"}, {step / 50});
  const auto found = read_digests(folder / "d");
  ASSERT_EQ(found.size(), 5u);
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(found[i].step, step_number{50 * (i + 1)});
}

// They are undone and trained again, perhaps by workers of another kind.
TEST(digest_log, refuses_steps_that_come_to_other_digests_than_before) {
  store::temp_folder folder;
  {
    digest_log log(folder / "d");
    log.append(step_number{50}, {"b", "a"}, {1, 2});
    log.append(step_number{100}, {"b", "a"}, {3, 4});
  }
  digest_log again(folder / "d");
  again.append(step_number{50}, {"b", "a"}, {1, 2});
  EXPECT_FAILURE(again.append(step_number{100}, {"b", "a"}, {3, 5}),
                 errc::other_bits, "step 100 is done again");
  EXPECT_EQ(read_digests(folder / "d").size(), 2u);
}

TEST(digest_log, passes_by_a_torn_last_line) {
  store::temp_folder folder;
  std::ofstream(folder / "d")
      << "{\"step\":1,\"digest\":\"a\",\"tensors\":{}}\n{\"step\":2,";
  EXPECT_EQ(read_digests(folder / "d").size(), 1u);
}

TEST(digest_log, makes_no_file_before_the_first_line) {
  store::temp_folder folder;
  digest_log log(folder / "d");
  EXPECT_FALSE(std::filesystem::exists(folder / "d"));
  EXPECT_TRUE(read_digests(folder / "d").empty());
}

TEST(digest_log, names_a_line_that_is_none) {
  store::temp_folder folder;
  std::ofstream(folder / "d")
      << "{\"step\":1,\"digest\":\"a\",\"tensors\":{}}\n"
      << "rubbish\n";
  EXPECT_FAILURE(read_digests(folder / "d"), errc::run_dir_unusable, "line 2");
}

} // namespace
} // namespace ballast::monitor
