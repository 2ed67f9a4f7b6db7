// Goal: what is known of a speed is worth what it says. Method: takes with
// noise of a known size.
#include "runtime/balance/speed.hpp"
#include "tests/runtime/ledger/ledger_fixture.hpp"

#include <gtest/gtest.h>

namespace ballast::testing {
namespace {

constexpr double row_s = 250e-6;

/// Takes of 25 rows, each by up to 10 % off; a window of them ends.
void add_window(balance::speed_estimate& to, test_random& random, size_t takes,
                double slower = 1) {
  for (size_t i = 0; i < takes; ++i)
    to.add(25, 25 * row_s * slower *
                   (1 + 0.1 * (double(random.below(2001)) / 1000 - 1)));
  to.end_window();
}

TEST(speed, does_not_take_a_window_of_two_takes_for_the_noise_of_all) {
  test_random random(1);
  balance::speed_estimate steady;
  balance::speed_estimate changed;
  for (int window = 0; window < 20; ++window) {
    add_window(steady, random, 16);
    add_window(changed, random, 16);
  }
  add_window(steady, random, 16);
  add_window(changed, random, 5, 4); // three to be sure, and two more
  ASSERT_EQ(changed.changes(), 1u);
  for (int window = 0; window < 3; ++window) {
    add_window(steady, random, 16);
    add_window(changed, random, 16, 4);
  }
  // It has two thirds of the windows that say how far they lie apart.
  EXPECT_LT(changed.error(), 5 * steady.error());
  EXPECT_NEAR(changed.cost().seconds(100), 400 * row_s, 10 * row_s);
}

TEST(speed_estimate, counts_takes_of_the_split_in_force_alone) {
  balance::speed_estimate speed;
  speed.new_split(64);
  for (uint64_t rows : {25, 25, 25, 64, 65, 63, 7}) // three came late
    speed.add(rows, double(rows) * 1e-4);
  EXPECT_EQ(speed.takes_of_split(), 3u);
  speed.new_split(25);
  EXPECT_EQ(speed.takes_of_split(), 0u);
}

TEST(speed_estimate, says_how_long_it_waited_for_a_core) {
  balance::speed_estimate speed;
  for (int take = 0; take < 20; ++take)
    speed.add(64, 0.010, 0.001);
  EXPECT_NEAR(speed.waiting(), 0.1, 1e-9);
  // Of the time since it became slower.
  for (int take = 0; take < 4; ++take)
    speed.add(64, 0.020, 0.011);
  EXPECT_NEAR(speed.waiting(), 0.55, 1e-9);
}

} // namespace
} // namespace ballast::testing
