// Goal: the name of a part of a fragment names nothing else. Method: a table.
#include "runtime/messages/fragments.hpp"

#include <gtest/gtest.h>

namespace ballast {
namespace {

TEST(fragment_blobs, have_names_that_can_be_read_back) {
  const std::string name = fragment_blob("0123456789abcdef", 64);
  EXPECT_EQ(name, "fragment/0123456789abcdef/64");
  std::string key;
  uint64_t at = 0;
  ASSERT_TRUE(read_fragment_blob(name, key, at));
  EXPECT_EQ(key, "0123456789abcdef");
  EXPECT_EQ(at, 64u);
}

TEST(fragment_blobs, are_no_way_out_of_their_folder) {
  std::string key;
  uint64_t at = 0;
  for (const char* name :
       {"", "manifest", "fragment/", "fragment/0123456789abcdef",
        "fragment/0123456789abcdef/", "fragment/0123456789abcdef/x",
        "fragment/0123456789abcdef/-1", "fragment/0123456789abcdef/1 ",
        "fragment/0123456789abcdef/99999999999999999999999",
        "fragment/../../../../etc/1", "fragment/0123456789ABCDEF/1",
        "fragment/0123456789abcde//1"})
    EXPECT_FALSE(read_fragment_blob(name, key, at)) << name;
}

} // namespace
} // namespace ballast
