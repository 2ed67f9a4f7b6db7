// Goal: a fault point acts when it is armed, at the hits that were asked for,
// and costs nothing otherwise. Method: armed in this process; what ends the
// process, in a child.
#include "runtime/base/fault_point.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#ifndef BALLAST_NO_FAULT_POINTS
namespace ballast {
namespace {

struct fault_points : testing::Test {
  ~fault_points() override { arm_fault_points(""); }

  static std::vector<int> hits(const char* name, int count) {
    std::vector<int> out;
    for (int i = 0; i < count; ++i)
      out.push_back(fault_point(name));
    return out;
  }
};

using list = std::vector<int>;

TEST_F(fault_points, do_nothing_where_none_is_armed) {
  EXPECT_EQ(hits("store.read", 2), (list{0, 0}));
}

TEST_F(fault_points, fail_at_the_hits_that_were_named) {
  EXPECT_STREQ(arm_fault_points("a=enospc;b=eio@2;;c=eacces@2-3;d=edquot"), "");
  EXPECT_EQ(hits("a", 2), (list{ENOSPC, ENOSPC}));
  EXPECT_EQ(hits("b", 3), (list{0, EIO, 0}));
  EXPECT_EQ(hits("c", 4), (list{0, EACCES, EACCES, 0}));
  EXPECT_EQ(hits("d", 1), list{EDQUOT});
  EXPECT_EQ(hits("other", 1), list{0});
}

TEST_F(fault_points, count_and_act_only_while_their_file_exists) {
  std::string path = testing::TempDir() + "/ballast_fault_point";
  std::remove(path.c_str());
  EXPECT_STREQ(arm_fault_points(("a=enospc@2?" + path).c_str()), "");
  EXPECT_EQ(hits("a", 3), (list{0, 0, 0}));
  std::fclose(std::fopen(path.c_str(), "w"));
  EXPECT_EQ(hits("a", 3), (list{0, ENOSPC, 0}));
  EXPECT_EQ(std::remove(path.c_str()), 0);
}

TEST_F(fault_points, remove_the_file_of_what_happens_once) {
  std::string path = testing::TempDir() + "/ballast_fault_point";
  std::fclose(std::fopen(path.c_str(), "w"));
  EXPECT_STREQ(arm_fault_points(("a=eio!" + path).c_str()), "");
  EXPECT_EQ(hits("a", 2), (list{EIO, 0}));
  EXPECT_NE(std::remove(path.c_str()), 0);
}

TEST_F(fault_points, end_the_process) {
  EXPECT_EXIT(
      {
        arm_fault_points("a=kill@2");
        hits("a", 2);
      },
      testing::KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(
      {
        arm_fault_points("a=abort");
        hits("a", 1);
      },
      testing::KilledBySignal(SIGABRT), "");
}

TEST_F(fault_points, say_what_they_cannot_read) {
  for (const char* wrong :
       {"a", "=kill", "a=", "a=die", "a=kill@0", "a=kill@3-2", "a=kill@x",
        "a=kill?", "a=kill!", "a=delay:", "a=delay:-1", "a=delay:1s"}) {
    EXPECT_STRNE(arm_fault_points(wrong), "") << wrong;
    EXPECT_EQ(hits("a", 1), list{0}) << wrong;
  }
}

} // namespace
} // namespace ballast
#endif
