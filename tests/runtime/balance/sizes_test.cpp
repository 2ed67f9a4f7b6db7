// Goal: sizes follow the weights, and nobody is to own more than there is room
// for. Method: tables.
#include "runtime/balance/sizes.hpp"

#include <gmock/gmock.h>

namespace ballast {
namespace {

using testing::ElementsAre;

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

} // namespace
} // namespace ballast
