// Goal: gradients are compressed only where that is exact about what it does,
// and a job says what belongs to which kind. Method: documents as users write
// them.
#include "runtime/job/memory_need.hpp"
#include "tests/runtime/job/job_fixture.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

using namespace testing;

TEST(compression_job, takes_each_kind) {
  for (const char* kind :
       {"none", "bf16", "int8", "topk", "powersgd", "auto"}) {
    const job_result read =
        parse(right_job(), {"/train/compression=" + std::string(kind)});
    ASSERT_TRUE(read.value) << all_messages(read);
    EXPECT_EQ(to_string(read.value->train.compression), kind);
    const job_result again = parse(to_json(*read.value));
    ASSERT_TRUE(again.value) << all_messages(again);
    EXPECT_EQ(to_json(*again.value), to_json(*read.value));
  }
}

TEST(compression_job, has_numbers_that_belong_to_a_kind) {
  const job_result ratio = parse(
      right_job(), {"/train/compression=topk", "/train/compression_ratio=0.2"});
  ASSERT_TRUE(ratio.value) << all_messages(ratio);
  EXPECT_EQ(ratio.value->train.compression_ratio, 0.2);
  const job_result rank = parse(right_job(), {"/train/compression=powersgd",
                                              "/train/compression_rank=2"});
  ASSERT_TRUE(rank.value) << all_messages(rank);
  EXPECT_EQ(rank.value->train.compression_rank, 2u);
  for (const char* set :
       {"/train/compression_ratio=0.2", "/train/compression_rank=2",
        "/train/compression_warmup_steps=9"}) {
    const job_result refused =
        parse(right_job(), {"/train/compression=int8", set});
    EXPECT_EQ(pointers(refused).size(), 1u) << set;
  }
  EXPECT_EQ(pointers(parse(right_job(), {"/train/compression=topk",
                                         "/train/compression_ratio=0"})),
            std::vector<std::string>{"/train/compression_ratio"});
}

TEST(compression_job, refuses_what_would_not_be_the_same_bits) {
  EXPECT_EQ(all_messages(parse(right_job(), {"/train/order=global",
                                             "/train/reduction=canonical",
                                             "/train/compression=bf16"})),
            "invalid_job /train/compression: \"bf16\" changes what is added "
            "up, by worker; the reduction \"canonical\" (/train/reduction) "
            "adds up the same bits for all: expected \"none\", or the "
            "reduction \"fused\"\n");
}

TEST(compression_job, refuses_collectives_that_cannot_carry_it) {
  for (const char* by : {"nccl", "gloo"})
    EXPECT_EQ(all_messages(
                  parse(right_job(), {"/train/compression=auto",
                                      "/train/collective=" + std::string(by)})),
              "invalid_job /train/compression: \"auto\" needs the collective "
              "\"ring\"; \"" +
                  std::string(by) +
                  "\" (/train/collective) cannot carry it: expected \"none\", "
                  "or the collective \"ring\" or \"auto\"\n");
}

TEST(compression_job, needs_memory_for_what_is_not_sent_yet) {
  job what = *parse(right_job()).value;
  const machine_size machine{1000 * 16, 2}; // three arenas and something
  EXPECT_FALSE(memory_problem(what, 1000, 1, machine));
  what.train.compression = compression_kind::int8;
  EXPECT_TRUE(memory_problem(what, 1000, 1, machine));
}

} // namespace
} // namespace ballast
