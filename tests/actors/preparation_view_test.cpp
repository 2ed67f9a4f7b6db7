#include "actors/preparation_view.hpp"

#include <gtest/gtest.h>

namespace ballast::actors {
namespace {

using std::chrono::seconds;

TEST(preparation_view, knows_nothing_before_rows_are_written) {
  preparation_view view;
  EXPECT_FALSE(view.at(instant{}));
  const auto seen = view.begin();
  seen->checks = 7;
  EXPECT_FALSE(view.at(instant{seconds(1)}));
}

TEST(preparation_view, expects_the_rest_to_be_as_quick_as_what_was_seen) {
  preparation_view view;
  const auto seen = view.begin();
  seen->total = 1000;
  seen->done = 100; // before anybody looked
  EXPECT_EQ(view.at(instant{seconds(10)})->done, 0.1);
  EXPECT_FALSE(view.at(instant{seconds(10)})->left_s);
  seen->done = 400;
  EXPECT_DOUBLE_EQ(view.at(instant{seconds(13)})->left_s.value(), 6);
  seen->done = 1000;
  EXPECT_EQ(view.at(instant{seconds(20)})->left_s.value(), 0);
}

TEST(preparation_view, begins_anew_with_other_data) {
  preparation_view view;
  view.begin()->total = 10;
  EXPECT_TRUE(view.at(instant{}));
  view.begin();
  EXPECT_FALSE(view.at(instant{seconds(1)}));
}

TEST(preparation_view, begins_anew_with_another_part_of_the_work) {
  preparation_view view;
  const store::work_watch watch({}, view.begin());
  watch.expect(1000); // bytes of files
  watch.did(500);
  EXPECT_EQ(view.at(instant{seconds(1)})->done, 0.5);
  watch.did(500);
  EXPECT_EQ(view.at(instant{seconds(2)})->left_s.value(), 0);
  watch.expect(10); // rows
  EXPECT_EQ(view.at(instant{seconds(3)})->done, 0);
  watch.did(5);
  EXPECT_DOUBLE_EQ(view.at(instant{seconds(7)})->left_s.value(), 4);
}

} // namespace
} // namespace ballast::actors
