/// Goal: which Host headers name this server when it is bound more widely.
#include "monitor/http/http_access.hpp"

#include <gtest/gtest.h>

namespace ballast::monitor {
namespace {

TEST(http_access, finds_the_host_of_a_host_header) {
  EXPECT_EQ(host_part("a.example:80"), "a.example");
  EXPECT_EQ(host_part("a.example"), "a.example");
  EXPECT_EQ(host_part("[::1]:80"), "::1");
  EXPECT_EQ(host_part("[::1]"), "::1");
  EXPECT_EQ(host_part("[::1"), "");
  EXPECT_EQ(host_part(""), "");
}

TEST(http_access, bound_to_one_address_only_that_and_the_loopback_name_it) {
  EXPECT_TRUE(host_allowed("10.0.0.5:80", "10.0.0.5", "node7"));
  EXPECT_TRUE(host_allowed("localhost", "10.0.0.5", "node7"));
  EXPECT_FALSE(host_allowed("node7:80", "10.0.0.5", "node7"));
  EXPECT_FALSE(host_allowed("10.0.0.6:80", "10.0.0.5", "node7"));
}

TEST(http_access, bound_everywhere_any_literal_address_and_its_name_do) {
  for (const char* bound : {"0.0.0.0", "::"}) {
    EXPECT_TRUE(host_allowed("10.0.0.6:80", bound, "node7"));
    EXPECT_TRUE(host_allowed("[fe80::1]:80", bound, "node7"));
    EXPECT_TRUE(host_allowed("Node7:80", bound, "node7"));
    EXPECT_FALSE(host_allowed("evil.example:80", bound, "node7"));
    EXPECT_FALSE(host_allowed("", bound, ""));
  }
}

} // namespace
} // namespace ballast::monitor
