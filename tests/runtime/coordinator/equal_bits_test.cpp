// Goal: a worker that computes or holds other bits than the rest is found, and
// nobody is blamed where nobody can say who is right.
#include "runtime/coordinator/equal_bits.hpp"
#include "tests/runtime/coordinator/coordinator_driver.hpp"

#include <gmock/gmock.h>
#include <optional>

namespace ballast::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

parameters_digested digests(uint32_t who, uint64_t step,
                            std::vector<uint64_t> of) {
  return {worker_id(who),
          generation{1},
          step_number{step},
          {"fc1.weight", "fc1.bias"},
          std::move(of)};
}

std::vector<equal_bits::probed> told(std::vector<std::string> digests) {
  std::vector<equal_bits::probed> out;
  for (const std::string& one : digests) {
    const auto id = uint32_t(out.size() + 1);
    out.push_back({worker_id(id), "w" + std::to_string(id), one});
  }
  return out;
}

TEST(equal_bits, are_those_of_most_workers_that_a_run_begins_with) {
  equal_bits bits;
  const equal_bits::finding found = bits.begin_with(told({"bb", "aa", "aa"}));
  EXPECT_TRUE(found.first);
  EXPECT_FALSE(found.undecided);
  EXPECT_EQ(bits.probe(), "aa");
  EXPECT_THAT(found.odd, ElementsAre(worker_id(1)));
  EXPECT_THAT(found.why, HasSubstr("w1 computes other bits than w2"));
  EXPECT_EQ(bits.unlike({worker_id(4), "w4", "aa"}), "");
  EXPECT_THAT(bits.unlike({worker_id(5), "w5", "bb"}),
              HasSubstr("computes other bits than w2"));
}

TEST(equal_bits, are_nobodys_where_as_many_have_these_as_those) {
  for (const auto& digests :
       {told({"aa", "bb"}), told({"aa", "bb", "bb", "aa"}),
        told({"aa", "bb", "cc"})}) {
    equal_bits bits;
    const equal_bits::finding found = bits.begin_with(digests);
    EXPECT_TRUE(found.undecided);
    EXPECT_THAT(found.why, HasSubstr("w2 computes other bits than w1"));
  }
}

TEST(equal_bits, stay_those_of_the_run_in_its_next_life) {
  equal_bits bits;
  bits.restore("aa");
  equal_bits::finding found = bits.begin_with(told({"bb", "bb", "aa"}));
  EXPECT_FALSE(found.first);
  EXPECT_FALSE(found.undecided);
  EXPECT_THAT(found.odd, ElementsAre(worker_id(1), worker_id(2)));
  EXPECT_THAT(found.why, HasSubstr("w1 computes other bits than w3"));
}

TEST(equal_bits, cannot_be_had_of_workers_that_all_compute_others) {
  equal_bits bits;
  bits.restore("aa");
  const equal_bits::finding found = bits.begin_with(told({"bb", "bb"}));
  EXPECT_TRUE(found.undecided);
  EXPECT_THAT(found.why,
              HasSubstr("w1 computes other bits than this run did before"));
}

TEST(equal_bits, are_not_asked_of_jobs_without_a_probe) {
  equal_bits bits;
  const equal_bits::finding found = bits.begin_with(told({"", ""}));
  EXPECT_FALSE(found.first);
  EXPECT_FALSE(found.undecided);
  EXPECT_THAT(found.odd, IsEmpty());
  EXPECT_EQ(bits.unlike({worker_id(3), "w3", ""}), "");
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

/// Of ranks 0, 1 and 2: first, at a second attempt, and what the third has.
contradicted_leaf leaf_of(uint64_t owner, uint64_t checker,
                          uint64_t owner_again, uint64_t checker_again,
                          std::optional<uint64_t> third = {}) {
  return {.leaf = 5,
          .owner = 0,
          .checker = 1,
          .third = third ? 2 : -1,
          .of_owner = owner,
          .of_checker = checker,
          .owner_again = owner_again,
          .checker_again = checker_again,
          .of_third = third.value_or(0)};
}

TEST(who_erred, is_whom_two_others_contradict) {
  EXPECT_THAT(who_erred(leaf_of(1, 9, 1, 9, 1)), ElementsAre(1u));
  EXPECT_THAT(who_erred(leaf_of(9, 1, 9, 1, 1)), ElementsAre(0u));
  EXPECT_THAT(who_erred(leaf_of(8, 9, 8, 9, 1)), IsEmpty())
      << "all three differ";
}

TEST(who_erred, is_who_contradicts_itself) {
  EXPECT_THAT(who_erred(leaf_of(9, 1, 1, 1)), ElementsAre(0u));
  EXPECT_THAT(who_erred(leaf_of(1, 9, 1, 8)), ElementsAre(1u));
  EXPECT_THAT(who_erred(leaf_of(9, 1, 1, 1, 1)), ElementsAre(0u));
  EXPECT_THAT(who_erred(leaf_of(9, 1, 8, 1, 7)), ElementsAre(0u))
      << "the third is ill, too";
}

TEST(who_erred, cannot_be_said_of_two_that_stay_with_what_they_have) {
  EXPECT_THAT(who_erred(leaf_of(1, 9, 1, 9)), IsEmpty());
  EXPECT_THAT(who_erred(leaf_of(7, 9, 1, 2)), IsEmpty());
  contradicted_leaf alone = leaf_of(1, 9, 1, 1);
  alone.checker = 0;
  EXPECT_THAT(who_erred(alone), IsEmpty());
}

TEST(equal_bits, tell_who_erred_in_which_leaf_of_which_step) {
  const auto named = [](worker_id who) { return "w" + to_string(who); };
  const std::vector<worker_id> ranks{worker_id{4}, worker_id{5}, worker_id{6}};
  leaves_contradicted what{worker_id{4},
                           generation{1},
                           step_number{50},
                           {leaf_of(8, 9, 8, 9, 1), leaf_of(1, 9, 1, 9, 1)}};
  equal_bits::finding found = equal_bits().take(what, ranks, named);
  EXPECT_THAT(found.odd, ElementsAre(worker_id{5}));
  EXPECT_FALSE(found.undecided);
  EXPECT_EQ(found.why, "leaf 5 of step 50: w5 computed other bits than w4");
  what.leaves = {leaf_of(1, 9, 1, 9)};
  found = equal_bits().take(what, ranks, named);
  EXPECT_TRUE(found.undecided);
  EXPECT_EQ(found.why, "leaf 5 of step 50: w4 computed other bits than w5");
}

/// A run whose workers tell what they make of the probe.
class probed_run : public ::testing::Test {
protected:
  /// The first generation is loaded.
  actions load(const std::vector<std::string>& probes) {
    std::vector<std::string> names;
    for (size_t w = 1; w <= probes.size(); ++w)
      names.push_back("w" + std::to_string(w));
    d_.probe = [&](size_t rank) { return probes[rank]; };
    d_.train(names);
    return d_.loaded;
  }

  driver d_;
};

TEST_F(probed_run, journals_the_probe_and_connects) {
  const actions out = load({"aa", "aa"});
  ASSERT_EQ(pick<journal_probe>(out).size(), 1u);
  EXPECT_EQ(pick<journal_probe>(out)[0].probe, "aa");
  EXPECT_EQ(pick<send_connect>(out).size(), 2u);
}

TEST_F(probed_run, goes_on_without_the_odd_one_of_three) {
  const actions out = load({"bb", "aa", "aa"});
  const auto lost = told<events::worker_lost>(out);
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].worker, "w1");
  EXPECT_THAT(ballast::describe(lost[0].cause),
              HasSubstr("computes other bits than w2"));
  EXPECT_TRUE(pick<send_connect>(out).empty());
  EXPECT_TRUE(pick<end_run>(out).empty());
}

TEST_F(probed_run, of_two_that_differ_ends_before_it_begins) {
  const actions out = load({"aa", "bb"});
  ASSERT_EQ(pick<end_run>(out).size(), 1u);
  EXPECT_EQ(pick<end_run>(out)[0].exit_code, 2);
  EXPECT_THAT(pick<end_run>(out)[0].reason,
              HasSubstr("worker w2 computes other bits than w1"));
  EXPECT_TRUE(pick<journal_probe>(out).empty());
}

/// A run of so many workers that hears of a leaf.
class contradicted_run : public ::testing::Test {
protected:
  actions hear(size_t world, const contradicted_leaf& leaf) {
    std::vector<std::string> names;
    for (size_t w = 1; w <= world; ++w)
      names.push_back("w" + std::to_string(w));
    if (!begun_)
      d_.train(names);
    begun_ = true;
    const worker_id first = d_.core.generation()->workers[0];
    return d_.core.take(
        leaves_contradicted{
            first, d_.core.generation()->number, step_number{1}, {leaf}},
        d_.now);
  }

  driver d_;
  bool begun_ = false;
};

TEST_F(contradicted_run, goes_on_without_who_erred) {
  const actions out = hear(3, leaf_of(1, 9, 1, 9, 1));
  const auto lost = told<events::worker_lost>(out);
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].worker, "w2");
  EXPECT_THAT(ballast::describe(lost[0].cause),
              AllOf(HasSubstr("leaf 5 of step 1"), HasSubstr("w2"),
                    HasSubstr("on host"), HasSubstr("is ill")));
  EXPECT_EQ(d_.core.phase(), run_phase::recovering);
  EXPECT_EQ(pick<send_fence>(out).size(), 2u);
}

TEST_F(contradicted_run, is_told_of_it_once) {
  hear(3, leaf_of(1, 9, 1, 9, 1));
  EXPECT_THAT(told<events::worker_lost>(hear(3, leaf_of(1, 9, 1, 9, 1))),
              IsEmpty());
}

TEST_F(contradicted_run, of_two_that_stay_with_what_they_have_fails) {
  const auto why = told<events::error>(hear(2, leaf_of(1, 9, 1, 9)));
  ASSERT_EQ(why.size(), 1u);
  EXPECT_EQ(why[0].why.code, errc::other_bits);
  EXPECT_THAT(why[0].why.message,
              AllOf(HasSubstr("leaf 5 of step 1"), HasSubstr("worker w1"),
                    HasSubstr("worker w2"), HasSubstr("third worker")));
}

TEST_F(contradicted_run, of_one_tries_again_a_few_times) {
  contradicted_leaf alone = leaf_of(1, 9, 1, 1);
  alone.checker = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(pick<send_fence>(hear(1, alone)).size(), 1u);
    ASSERT_EQ(d_.core.phase(), run_phase::recovering);
    const auto placing =
        pick<balance::place_shares>(d_.recover(step_number{0}));
    ASSERT_EQ(placing.size(), 1u);
    d_.place(placing[0]);
    ASSERT_EQ(d_.core.phase(), run_phase::training);
  }
  EXPECT_EQ(told<events::error>(hear(1, alone)).size(), 1u);
}

} // namespace
} // namespace ballast::coordinator
