// Goal: "auto" takes NCCL exactly where it can work, and says why not. Method:
// tables.
#include "runtime/coordinator/collective_choice.hpp"

#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using ::testing::HasSubstr;

rank_device gpu(const std::string& worker, const std::string& which,
                const std::string& nccl = "2.28.9") {
  return {worker, "cuda:0", which, nccl};
}
rank_device cpu(const std::string& worker) {
  return {worker, "cpu", "", ""};
}

collective_choice automatic(const std::vector<rank_device>& ranks,
                            const std::string& failed = {}) {
  return choose_collective(collective_kind::automatic, ranks, failed);
}

TEST(collective_choice, is_nccl_among_gpus) {
  const auto got = automatic({gpu("w1", "a 17"), gpu("w2", "b 17")});
  EXPECT_EQ(got.name, "nccl");
  EXPECT_EQ(got.reason, "every worker has a GPU of its own, and NCCL 2.28.9");
}

TEST(collective_choice, is_the_ring_where_nccl_cannot_be_and_says_why) {
  struct row {
    std::vector<rank_device> ranks;
    const char* why;
  };
  for (const row& one : std::vector<row>{
           {{gpu("w1", "a")}, "one worker"},
           {{gpu("w1", "a"), gpu("w2", "b"), cpu("w3")}, "w3 computes on cpu"},
           {{gpu("w1", "a"), gpu("w2", "b", "")}, "w2 has no NCCL"},
           {{gpu("w1", "a"), gpu("w2", "b", "2.27.3")},
            "w1 has NCCL 2.28.9, w2 2.27.3"},
           {{gpu("w1", "a"), gpu("w2", "b"), gpu("w3", "a")},
            "w1 and w3 share a GPU, cuda:0"},
       }) {
    const auto got = automatic(one.ranks);
    EXPECT_EQ(got.name, "ring") << one.why;
    EXPECT_THAT(got.reason, HasSubstr(one.why));
  }
}

TEST(collective_choice, is_the_ring_without_a_word_where_nobody_has_a_gpu) {
  for (const auto& ranks :
       {std::vector<rank_device>{}, {cpu("w1"), cpu("w2")}}) {
    EXPECT_EQ(automatic(ranks).name, "ring");
    EXPECT_EQ(automatic(ranks).reason, "");
  }
}

TEST(collective_choice, does_not_try_again_what_failed) {
  const auto got =
      automatic({gpu("w1", "a"), gpu("w2", "b")}, "w2: unhandled error");
  EXPECT_EQ(got.name, "ring");
  EXPECT_EQ(got.reason, "NCCL failed before: w2: unhandled error");
}

TEST(collective_choice, is_what_the_job_says_where_it_says_something) {
  for (const collective_kind asked :
       {collective_kind::ring, collective_kind::gloo, collective_kind::nccl})
    EXPECT_EQ(choose_collective(asked, {cpu("w1")}, "whatever").name,
              to_string(asked));
}

} // namespace
} // namespace ballast::coordinator
