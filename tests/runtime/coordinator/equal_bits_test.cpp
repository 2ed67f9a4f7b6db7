// Goal: a worker that computes or holds other bits than the rest is found, and
// nobody is blamed where nobody can say who is right.
#include "runtime/coordinator/equal_bits.hpp"

#include <gmock/gmock.h>

namespace ballast::coordinator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

parameters_digested digests(uint32_t who, uint64_t step,
                            std::vector<uint64_t> of) {
  return {worker_id(who),
          generation{1},
          step_number{step},
          {"fc1.weight", "fc1.bias"},
          std::move(of)};
}

TEST(equal_bits, take_the_first_probe_for_that_of_all) {
  equal_bits bits;
  EXPECT_EQ(bits.other_probe("w1", "aa"), "");
  EXPECT_EQ(bits.other_probe("w2", "aa"), "");
  EXPECT_THAT(bits.other_probe("w3", "bb"),
              HasSubstr("computes other bits than w1"));
  EXPECT_EQ(bits.other_probe("w4", "aa"), "");
}

TEST(equal_bits, ask_nothing_of_jobs_without_a_probe) {
  equal_bits bits;
  EXPECT_EQ(bits.other_probe("w1", ""), "");
  EXPECT_EQ(bits.other_probe("w2", ""), "");
}

TEST(equal_bits, tell_of_a_step_once) {
  equal_bits bits;
  EXPECT_TRUE(bits.take(digests(1, 50, {1, 2}), "w1", 2).first);
  EXPECT_FALSE(bits.take(digests(2, 50, {1, 2}), "w2", 2).first);
  EXPECT_TRUE(bits.take(digests(1, 100, {1, 3}), "w1", 2).first);
}

TEST(equal_bits, name_whom_two_others_contradict_and_the_tensor) {
  equal_bits bits;
  EXPECT_THAT(bits.take(digests(1, 50, {1, 2}), "w1", 3).odd, IsEmpty());
  EXPECT_THAT(bits.take(digests(2, 50, {1, 9}), "w2", 3).odd, IsEmpty())
      << "a third one may still say who is right";
  const equal_bits::finding found = bits.take(digests(3, 50, {1, 2}), "w3", 3);
  EXPECT_THAT(found.odd, ElementsAre(worker_id(2)));
  EXPECT_FALSE(found.undecided);
  EXPECT_EQ(found.why, "after step 50 w2 has other parameters than w1, first "
                       "in 'fc1.bias'");
}

TEST(equal_bits, cannot_decide_between_two) {
  equal_bits bits;
  bits.take(digests(1, 50, {1, 2}), "w1", 2);
  const equal_bits::finding found = bits.take(digests(2, 50, {4, 2}), "w2", 2);
  EXPECT_TRUE(found.undecided);
  EXPECT_THAT(found.odd, IsEmpty());
  EXPECT_THAT(found.why, HasSubstr("'fc1.weight'"));
}

TEST(equal_bits, count_each_worker_once) {
  equal_bits bits;
  bits.take(digests(1, 50, {1, 2}), "w1", 3);
  bits.take(digests(1, 50, {1, 2}), "w1", 3);
  EXPECT_THAT(bits.take(digests(2, 50, {4, 2}), "w2", 3).odd, IsEmpty());
}

} // namespace
} // namespace ballast::coordinator
