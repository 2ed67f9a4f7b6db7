// Goal: numbers on a terminal are as short as a person needs them. Method:
// tables.
#include "runtime/base/number_text.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

TEST(number_text, separates_thousands) {
  EXPECT_EQ(thousands(0), "0");
  EXPECT_EQ(thousands(999), "999");
  EXPECT_EQ(thousands(1000), "1,000");
  EXPECT_EQ(thousands(1'234'567.4), "1,234,567");
  EXPECT_EQ(thousands(-123), "-123");
  EXPECT_EQ(thousands(-1234), "-1,234");
}

TEST(number_text, keeps_four_significant_digits) {
  EXPECT_EQ(four_digits(0.431234), "0.4312");
  EXPECT_EQ(four_digits(0.43), "0.4300");
  EXPECT_EQ(four_digits(12.3), "12.30");
  EXPECT_EQ(four_digits(1234.4), "1234");
  EXPECT_EQ(four_digits(0.00001234), "1.234e-05");
}

TEST(number_text, names_the_factor_of_large_numbers) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(812.4), "812");
  EXPECT_EQ(short_number(999.6), "1.00 k");
  EXPECT_EQ(short_number(81'234), "81.2 k");
  EXPECT_EQ(short_number(99'960), "100 k");
  EXPECT_EQ(short_number(1'234'567), "1.23 M");
  EXPECT_EQ(bytes_text(17), "17 B");
  EXPECT_EQ(bytes_text(12'530'000), "12.5 MB");
}

TEST(number_text, shows_a_part_as_percent_and_little_as_some) {
  EXPECT_EQ(percent_text(0), "0.0 %");
  EXPECT_EQ(percent_text(0.0001), "under 0.1 %");
  EXPECT_EQ(percent_text(0.6649), "66.5 %");
  EXPECT_EQ(percent_text(1), "100.0 %");
}

TEST(number_text, shows_long_times_as_a_clock_does) {
  EXPECT_EQ(clock_text(4.2), "0:05");
  EXPECT_EQ(clock_text(3599), "59:59");
  EXPECT_EQ(clock_text(3600), "1:00:00");
  EXPECT_EQ(took_text(0.0521), "0.052 s");
  EXPECT_EQ(took_text(1.234), "1.23 s");
  EXPECT_EQ(took_text(12.34), "12.3 s");
  EXPECT_EQ(took_text(119.7), "120 s");
  EXPECT_EQ(took_text(245), "4:05");
}

} // namespace
} // namespace ballast
