// Goal: sizes follow the weights, and nobody is to own more than there is room
// for. Method: tables.
#include "runtime/balance/sizes.hpp"

#include <gmock/gmock.h>

namespace ballast::balance {
namespace {

using ::testing::ElementsAre;

constexpr uint64_t plenty = UINT64_MAX;

std::vector<uint64_t> sizes(std::vector<uint64_t> weights,
                            std::vector<uint64_t> owned,
                            std::vector<uint64_t> room) {
  return lasting_sizes({weights, owned, owned, room});
}

TEST(sizes, follow_the_weights_where_there_is_room) {
  EXPECT_THAT(sizes({1, 3}, {50, 50}, {plenty, plenty}), ElementsAre(25, 75));
}

TEST(sizes, leave_what_does_not_fit_to_those_who_have_room) {
  EXPECT_THAT(sizes({1, 1, 2}, {90, 5, 5}, {plenty, 0, plenty}),
              ElementsAre(32, 5, 63));
}

TEST(sizes, fill_nobody_up_with_what_did_not_fit_elsewhere) {
  // Equal parts are 40 each; what the second lacks would make the third too
  // large.
  EXPECT_THAT(sizes({1, 1, 1, 1}, {100, 20, 20, 20}, {plenty, 0, 21, plenty}),
              ElementsAre(50, 20, 41, 49));
}

TEST(sizes, stay_as_they_are_where_nobody_has_room) {
  EXPECT_THAT(sizes({1, 3}, {50, 50}, {0, 0}), ElementsAre(50, 50));
}

/// Three equal workers that own `owned` rows, of which `left` are left.
sizes_request thirds(std::vector<uint64_t> owned, std::vector<uint64_t> left,
                     uint64_t batch) {
  return {{1, 1, 1}, owned, left, {plenty, plenty, plenty}, batch};
}

// Of 20 rows three workers take 7, 7 and 6, in all five steps.
TEST(sizes, are_what_whole_steps_take) {
  std::vector<uint64_t> owned{34, 33, 33};
  EXPECT_THAT(lasting_sizes(thirds(owned, owned, 20)), ElementsAre(35, 35, 30));
  EXPECT_THAT(lasting_sizes(thirds(owned, owned, 0)), ElementsAre(34, 33, 33));
  // With a short last step: six of 6, 5, 5, then 2, 1, 1.
  EXPECT_THAT(lasting_sizes(thirds(owned, owned, 16)), ElementsAre(38, 31, 31));
}

TEST(sizes, leave_something_to_who_takes_nothing_in_whole_rows) {
  EXPECT_THAT(
      lasting_sizes(
          {{50, 48, 2}, {50, 48, 2}, {50, 48, 2}, {plenty, plenty, plenty}, 8}),
      ElementsAre(50, 48, 2));
}

TEST(sizes, are_not_exceeded_by_a_single_row) {
  sizes_request what = thirds({36, 34, 30}, {36, 34, 30}, 20);
  EXPECT_EQ(most_excess(what, lasting_sizes(what)), 0);
  what.owned = {37, 33, 30};
  EXPECT_NEAR(most_excess(what, lasting_sizes(what)), 2 / 35., 1e-12);
}

TEST(sizes, lose_no_time_where_all_end_within_a_row) {
  std::vector<uint64_t> owned{35, 35, 30};
  // Four of five steps are done.
  EXPECT_EQ(lost_in_this_epoch(thirds(owned, {7, 7, 6}, 20), owned), 0);
  EXPECT_EQ(lost_in_this_epoch(thirds(owned, {8, 6, 6}, 20), owned), 0);
  // Three times as long as the others, in a fifth of the epoch.
  EXPECT_NEAR(lost_in_this_epoch(thirds(owned, {0, 2, 18}, 20), owned),
              (18 / 6. - 1) / 5, 1e-12);
}

// The slow third has used a fifth of its rows, the others nearly all of theirs.
// Each of its chunks takes four fifths of its rows along.
TEST(sizes, count_on_what_the_owner_of_a_chunk_has_left_of_it) {
  sizes_request what = thirds({1000, 1000, 1000}, {50, 50, 800}, 0);
  EXPECT_THAT(sizes_for_this_epoch(what), ElementsAre(1313, 1312, 375));
  EXPECT_NEAR(lost_in_this_epoch(what, {1313, 1312, 375}), 0, 1e-3);
  // 500 of them leave 400 of its rows where 300 would be a third.
  EXPECT_NEAR(lost_in_this_epoch(what, {1250, 1250, 500}), 0.1, 1e-3);
}

} // namespace
} // namespace ballast::balance
