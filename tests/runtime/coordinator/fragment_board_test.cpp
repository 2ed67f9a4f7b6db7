// Goal: every file of a source is read by somebody, whoever dies, comes late or
// lies, and by as few as possible. Method: scenes, and a walk of random events.
#include "runtime/coordinator/fragment_board.hpp"

#include "runtime/base/random.hpp"

#include <gtest/gtest.h>

namespace ballast::coordinator {
namespace {

using namespace std::chrono_literals;
using given = std::vector<std::pair<worker_id, size_t>>;

constexpr worker_id first_worker{1};
constexpr worker_id second_worker{2};

TEST(fragment_board, gives_files_in_their_order_to_whoever_is_free) {
  fragment_board board(6, 2);
  EXPECT_EQ(board.take_here(0s), 0u);
  board.joined(first_worker);
  board.joined(second_worker);
  EXPECT_EQ(board.give(0s), (given{{first_worker, 1},
                                   {second_worker, 2},
                                   {first_worker, 3},
                                   {second_worker, 4}}))
      << "a few in flight each";
  EXPECT_EQ(board.give(0s), given{});
  EXPECT_EQ(board.take_here(0s), 5u);
  EXPECT_EQ(board.take_here(0s), std::nullopt);
  EXPECT_FALSE(board.all_finished());
  for (size_t i : {0, 5})
    EXPECT_TRUE(board.done(i));
  for (size_t i : {1, 2, 3, 4}) {
    EXPECT_TRUE(board.arriving(i, i % 2 == 1 ? first_worker : second_worker));
    EXPECT_FALSE(board.finished(i));
    EXPECT_TRUE(board.done(i));
  }
  EXPECT_TRUE(board.all_finished());
  EXPECT_EQ(board.read_by(first_worker), 2u);
}

TEST(fragment_board, gives_those_of_a_dead_worker_to_others) {
  fragment_board board(3, 2);
  board.joined(first_worker);
  board.joined(second_worker);
  EXPECT_EQ(board.give(0s),
            (given{{first_worker, 0}, {second_worker, 1}, {first_worker, 2}}));
  EXPECT_TRUE(board.arriving(2, first_worker));
  board.gone(first_worker);
  EXPECT_EQ(board.give(1s), (given{{second_worker, 0}}));
  EXPECT_EQ(board.take_here(1s), 2u) << "it was on its way from the dead";
  board.gone(second_worker);
  board.gone(second_worker);
  EXPECT_EQ(board.take_here(2s), 0u);
  EXPECT_EQ(board.take_here(2s), 1u);
}

TEST(fragment_board, asks_a_worker_without_the_files_for_none_of_them) {
  fragment_board board(3, 1);
  board.joined(first_worker);
  EXPECT_EQ(board.give(0s), (given{{first_worker, 0}}));
  EXPECT_TRUE(board.left_out(first_worker));
  EXPECT_FALSE(board.left_out(first_worker));
  EXPECT_EQ(board.give(0s), given{});
  board.joined(first_worker);
  EXPECT_EQ(board.give(0s), given{}) << "said twice";
  EXPECT_EQ(board.take_here(0s), 0u);
}

TEST(fragment_board, reads_again_what_another_has_had_for_too_long) {
  fragment_board board(2, 2);
  board.joined(first_worker);
  EXPECT_EQ(board.give(0s).size(), 2u);
  EXPECT_EQ(board.take_here(9s), std::nullopt);
  EXPECT_EQ(board.take_here(10s), 0u);
  EXPECT_EQ(board.take_here(10s), 1u);
  EXPECT_EQ(board.take_here(100s), std::nullopt) << "it has them now";
  EXPECT_TRUE(board.done(0));
  EXPECT_FALSE(board.arriving(0, first_worker)) << "late";
  EXPECT_FALSE(board.done(0));
  EXPECT_TRUE(board.arriving(1, first_worker)) << "first";
  EXPECT_TRUE(board.done(1));
  EXPECT_FALSE(board.done(1)) << "and then from here";
  EXPECT_EQ(board.read_by(first_worker), 1u);
}

TEST(fragment_board, takes_an_answer_of_one_that_was_given_up) {
  fragment_board board(2, 1);
  board.joined(first_worker);
  EXPECT_EQ(board.give(0s), (given{{first_worker, 0}}));
  board.gone(first_worker);
  EXPECT_TRUE(board.arriving(0, first_worker));
  EXPECT_EQ(board.take_here(0s), 1u);
  board.gone(first_worker);
  EXPECT_TRUE(board.done(0)) << "it had arrived nevertheless";
}

TEST(fragment_board, lets_a_refused_file_rest) {
  fragment_board board(2, 1);
  board.joined(first_worker);
  EXPECT_EQ(board.give(0s), (given{{first_worker, 0}}));
  EXPECT_TRUE(board.refused(0));
  EXPECT_TRUE(board.finished(0));
  EXPECT_FALSE(board.is_done(0));
  board.gone(first_worker);
  EXPECT_EQ(board.take_here(60s), 1u);
  EXPECT_EQ(board.take_here(60s), std::nullopt);
  EXPECT_FALSE(board.refused(0));
}

TEST(fragment_board, leaves_the_cores_of_the_coordinator_alone) {
  EXPECT_FALSE(reads_fragments("a", "a", false));
  EXPECT_TRUE(reads_fragments("a", "a", true));
  EXPECT_TRUE(reads_fragments("b", "a", false));
  EXPECT_TRUE(reads_fragments("", "", false)) << "nobody knows";
}

/// Workers come, die, finish, lie and come late at random; as long as this
/// process goes on reading, every file is finished in the end.
TEST(fragment_board, finishes_every_file_whatever_happens) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const counter_random random(seed, 3);
    uint64_t at = 0;
    fragment_board board(12, 1 + random.below(3, at++));
    instant now{};
    std::vector<given::value_type> answers;
    std::vector<size_t> mine;
    for (int turn = 0; turn < 2000 && !board.all_finished(); ++turn) {
      now += std::chrono::milliseconds(random.below(2000, at++));
      const worker_id who{uint32_t(random.below(4, at++))};
      const uint64_t what = random.below(8, at++);
      if (what == 0)
        board.joined(who);
      else if (what == 1)
        board.gone(who);
      else if (what == 2 && random.below(10, at++) == 0)
        board.left_out(who);
      for (const auto& one : board.give(now))
        answers.push_back(one);
      if (what == 3 && !answers.empty()) {
        const auto [from, file] = answers[random.below(answers.size(), at++)];
        if (board.arriving(file, from) && random.below(2, at++) == 0)
          board.done(file);
        else
          board.left_out(from);
      }
      if (what == 4)
        if (const auto file = board.take_here(now))
          mine.push_back(*file);
      if (what == 5 && !mine.empty()) {
        board.done(mine.back());
        mine.pop_back();
      }
    }
    EXPECT_TRUE(board.all_finished()) << "seed " << seed;
  }
}

} // namespace
} // namespace ballast::coordinator
