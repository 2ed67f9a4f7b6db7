// Goal: processes that die again and again are started ever later, and in the
// end no more. Method: a clock of its own.
#include "runtime/base/restart_limit.hpp"

#include <gmock/gmock.h>

namespace ballast {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(restart_limit, doubles_the_wait_within_a_minute) {
  restart_limit limit;
  std::vector<int64_t> waits;
  for (int i = 0; i < 9; ++i) {
    limit.ready();
    limit.died(std::chrono::seconds(i));
    waits.push_back(limit.wait().count());
  }
  EXPECT_THAT(waits,
              ElementsAre(0, 100, 200, 400, 800, 1600, 3200, 5000, 5000));
  limit.died(200s);
  EXPECT_EQ(limit.wait().count(), 0) << "it was calm for more than a minute";
}

TEST(restart_limit, ends_with_twenty_deaths_within_ten_minutes) {
  restart_limit limit;
  for (int i = 0; i < 19; ++i) {
    limit.ready();
    limit.died(std::chrono::seconds(30 * i));
  }
  EXPECT_EQ(limit.exceeded(), "");
  limit.ready();
  limit.died(595s);
  EXPECT_THAT(limit.exceeded(), HasSubstr("20 times within 10 minutes"));
  restart_limit calm;
  for (int i = 0; i < 100; ++i) {
    calm.ready();
    calm.died(std::chrono::seconds(40 * i));
  }
  EXPECT_EQ(calm.exceeded(), "");
}

TEST(restart_limit, ends_at_once_with_those_that_never_get_ready) {
  restart_limit limit;
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(limit.exceeded(), "");
    limit.died(std::chrono::milliseconds(i));
  }
  EXPECT_THAT(limit.exceeded(), HasSubstr("before they were ready"));
}

} // namespace
} // namespace ballast
