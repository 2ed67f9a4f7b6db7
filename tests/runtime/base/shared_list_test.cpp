#include "runtime/base/shared_list.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

TEST(shared_list, is_one_list_until_a_copy_changes) {
  shared_list<int> first{1, 2, 3};
  shared_list<int> second = first;
  EXPECT_EQ(&first.list(), &second.list());
  second.push_back(4);
  EXPECT_EQ(first, (shared_list<int>{1, 2, 3}));
  EXPECT_EQ(second, (shared_list<int>{1, 2, 3, 4}));
  first.own()[0] = 7;
  EXPECT_EQ(first.front(), 7);
  EXPECT_EQ(second.front(), 1);
}

TEST(shared_list, changes_in_place_where_nobody_shares_it) {
  shared_list<int> alone{1, 2, 3};
  const std::vector<int>* before = &alone.list();
  alone.pop_back();
  EXPECT_EQ(&alone.list(), before);
  EXPECT_EQ(alone.size(), 2u);
}

TEST(shared_list, that_is_empty_equals_every_other_empty_one) {
  shared_list<int> emptied{1};
  emptied.pop_back();
  EXPECT_EQ(emptied, shared_list<int>());
  EXPECT_EQ(shared_list<int>(std::vector<int>()), emptied);
  EXPECT_TRUE(shared_list<int>().empty());
}

} // namespace
} // namespace ballast
