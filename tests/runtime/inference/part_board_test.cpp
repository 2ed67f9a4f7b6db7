// Goal: every part is computed once, whatever dies, by as few processes as
// there is work for; and what cannot be computed ends the work with the reason.
// Method: events by hand, and kills drawn by a fixed seed.
#include "runtime/inference/part_board.hpp"

#include "runtime/base/random.hpp"

#include <gtest/gtest.h>
#include <map>

namespace ballast::inference {
namespace {

constexpr seat_number first{0};
constexpr seat_number second{1};

using actions = std::vector<board_action>;

part_number part(uint64_t number) {
  return part_number(number);
}

TEST(part_board, starts_no_process_before_there_is_work) {
  part_board board(4);
  EXPECT_EQ(board.next(), actions{});
  EXPECT_TRUE(board.is_empty());
  EXPECT_TRUE(board.wants_parts());
}

TEST(part_board, starts_one_process_for_the_part_that_is_expected) {
  part_board board(4);
  board.expect();
  EXPECT_EQ(board.next(), actions{start_process{first}});
  EXPECT_EQ(board.next(), actions{});
  board.add(part(0));
  EXPECT_EQ(board.next(), actions{});
  board.ready(first);
  EXPECT_EQ(board.next(), (actions{hand_out{first, part(0)}}));
}

TEST(part_board, starts_as_many_processes_as_there_are_parts) {
  part_board board(4);
  board.add(part(0));
  EXPECT_EQ(board.next(), actions{start_process{first}});
  EXPECT_EQ(board.next(), actions{});
  board.add(part(1));
  EXPECT_EQ(board.next(), actions{start_process{second}});
}

TEST(part_board, hands_the_lowest_part_to_who_is_ready) {
  part_board board(1);
  board.add(part(1));
  board.add(part(0));
  (void)board.next();
  board.ready(first);
  EXPECT_EQ(board.next(),
            (actions{hand_out{first, part(0)}, hand_out{first, part(1)}}));
  EXPECT_EQ(board.done(first), part(0));
  EXPECT_EQ(board.next(), actions{});
  EXPECT_FALSE(board.is_empty());
  EXPECT_EQ(board.done(first), part(1));
  EXPECT_TRUE(board.is_empty());
  EXPECT_EQ(board.done(first), std::nullopt);
}

TEST(part_board, gives_a_second_part_ahead_once_each_has_one) {
  part_board board(2);
  for (uint64_t i = 0; i < 3; ++i)
    board.add(part(i));
  (void)board.next();
  board.ready(first);
  board.ready(second);
  EXPECT_EQ(board.next(),
            (actions{hand_out{first, part(0)}, hand_out{second, part(1)},
                     hand_out{first, part(2)}}));
  EXPECT_EQ(board.done(first), part(0));
  EXPECT_EQ(board.done(first), part(2));
}

TEST(part_board, keeps_parts_for_processes_that_are_about_to_be_ready) {
  part_board board(2);
  board.add(part(0));
  board.add(part(1));
  (void)board.next();
  board.ready(first);
  EXPECT_EQ(board.next(), (actions{hand_out{first, part(0)}}));
}

TEST(part_board, wants_no_more_than_three_parts_for_a_seat) {
  part_board board(2);
  for (uint64_t i = 0; i < 6; ++i) {
    EXPECT_TRUE(board.wants_parts()) << i;
    board.add(part(i));
  }
  EXPECT_FALSE(board.wants_parts());
  (void)board.next();
  board.ready(first);
  (void)board.next();
  EXPECT_FALSE(board.wants_parts());
  board.done(first);
  EXPECT_TRUE(board.wants_parts());
}

TEST(part_board, gives_the_part_of_a_dead_process_to_another) {
  part_board board(2);
  board.add(part(0));
  board.add(part(1));
  (void)board.next();
  board.ready(first);
  board.ready(second);
  (void)board.next();
  board.died(first, "killed by signal 9");
  EXPECT_EQ(board.next(), (actions{hand_out{second, part(0)}}));
  board.add(part(2));
  EXPECT_EQ(board.next(), actions{start_process{first}});
  EXPECT_EQ(board.done(second), part(1));
  EXPECT_EQ(board.done(second), part(0));
  EXPECT_FALSE(board.refused());
  EXPECT_EQ(board.deaths(), 1u);
}

TEST(part_board, a_process_that_dies_idle_is_replaced_only_for_work) {
  part_board board(1);
  board.add(part(0));
  (void)board.next();
  board.ready(first);
  (void)board.next();
  board.done(first);
  board.died(first, "killed by signal 15");
  EXPECT_EQ(board.next(), actions{});
  EXPECT_TRUE(board.is_empty());
}

TEST(part_board, a_part_that_kills_every_process_ends_the_work) {
  part_board board(1);
  board.add(part(7));
  for (uint32_t i = 0; i < part_board::deaths_of_part_max; ++i) {
    EXPECT_FALSE(board.refused()) << i;
    (void)board.next();
    board.ready(first);
    (void)board.next();
    board.died(first, "killed by signal 11");
  }
  EXPECT_EQ(board.refused().code, errc::worker_lost);
  EXPECT_NE(board.refused().message.find("part 7"), std::string::npos);
  EXPECT_NE(board.refused().message.find("signal 11"), std::string::npos);
}

TEST(part_board, processes_that_are_never_ready_end_the_work) {
  part_board board(2);
  board.add(part(0));
  for (uint32_t i = 0; i < part_board::unready_deaths_max; ++i) {
    EXPECT_FALSE(board.refused()) << i;
    (void)board.next();
    board.died(first, "exited with code 1: no LibTorch");
  }
  EXPECT_EQ(board.refused().code, errc::worker_lost);
  EXPECT_NE(board.refused().message.find("no LibTorch"), std::string::npos);
}

/// Ready, done and dead in any order, of every seat.
TEST(part_board, computes_each_part_once_under_any_kills) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const counter_random random(seed, 0);
    uint64_t draws = 0;
    part_board board(1 + uint32_t(seed % 4));
    std::map<seat_number, int> sitting; // parts in its hands
    std::map<part_number, int> done;
    uint64_t added = 0;
    constexpr uint64_t all = 12;
    for (int step = 0; step < 10000 && !board.refused(); ++step) {
      if (added == all && board.is_empty())
        break;
      if (added < all && board.wants_parts())
        board.add(part(added++));
      for (const board_action& one : board.next()) {
        if (const auto* started = std::get_if<start_process>(&one)) {
          ASSERT_FALSE(sitting.contains(started->seat)) << seed;
          sitting[started->seat] = 0;
        } else {
          const auto& handed = std::get<hand_out>(one);
          ASSERT_FALSE(done.contains(handed.part)) << seed;
          ++sitting.at(handed.seat);
        }
      }
      for (auto at = sitting.begin(); at != sitting.end();) {
        const uint64_t draw = random.below(8, draws++);
        if (draw == 0) {
          board.died(at->first, "killed");
          at = sitting.erase(at);
          continue;
        }
        if (at->second > 0 && draw < 5) {
          const auto part = board.done(at->first);
          ASSERT_TRUE(part.has_value());
          ++done[*part];
          --at->second;
        } else if (at->second == 0) {
          board.ready(at->first);
        }
        ++at;
      }
    }
    if (board.refused()) // a part may be unlucky five times
      continue;
    EXPECT_EQ(done.size(), all) << seed;
    for (const auto& [number, times] : done)
      EXPECT_EQ(times, 1) << seed;
  }
}

} // namespace
} // namespace ballast::inference
