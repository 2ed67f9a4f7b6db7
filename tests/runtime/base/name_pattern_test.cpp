#include "runtime/base/name_pattern.hpp"

#include <gtest/gtest.h>
#include <string>

namespace ballast {
namespace {

TEST(name_pattern, without_a_star_fits_that_name_alone) {
  EXPECT_TRUE(fits_pattern("fc1.weight", "fc1.weight"));
  EXPECT_FALSE(fits_pattern("fc1.weight", "fc1.weights"));
  EXPECT_FALSE(fits_pattern("fc1.weight", "fc1.weigh"));
  EXPECT_FALSE(fits_pattern("", "fc1.weight"));
  EXPECT_TRUE(fits_pattern("", ""));
}

TEST(name_pattern, takes_a_star_for_any_text_and_for_none) {
  EXPECT_TRUE(fits_pattern("*", ""));
  EXPECT_TRUE(fits_pattern("*", "layer1.0.bn1.weight"));
  EXPECT_TRUE(fits_pattern("layer1.*", "layer1.0.bn1.weight"));
  EXPECT_FALSE(fits_pattern("layer1.*", "layer10.0.bn1.weight"));
  EXPECT_TRUE(fits_pattern("layer1*", "layer10.0.bn1.weight"));
  EXPECT_TRUE(fits_pattern("*.bias", "fc2.bias"));
  EXPECT_FALSE(fits_pattern("*.bias", "fc2.bias.mean"));
  EXPECT_TRUE(fits_pattern("*bn*.weight", "layer1.0.bn1.weight"));
  EXPECT_TRUE(fits_pattern("**a**", "a"));
  EXPECT_FALSE(fits_pattern("*a*b", "ab.a"));
}

/// A star must be able to take more than it did at first.
TEST(name_pattern, looks_on_where_the_rest_does_not_fit) {
  EXPECT_TRUE(fits_pattern("*ab", "aab"));
  EXPECT_TRUE(fits_pattern("*aab", "aaaab"));
  EXPECT_TRUE(fits_pattern("a*b*c", "a.b.x.b.c"));
  EXPECT_FALSE(fits_pattern("a*b*c", "a.c.b"));
}

TEST(name_pattern, takes_every_other_character_for_itself) {
  EXPECT_FALSE(fits_pattern("fc?.weight", "fc1.weight"));
  EXPECT_FALSE(fits_pattern("fc[12].weight", "fc1.weight"));
  EXPECT_FALSE(fits_pattern("fc1xweight", "fc1.weight"));
}

TEST(name_pattern, is_soon_done_with_many_stars) {
  std::string pattern, name(250, 'a');
  for (int i = 0; i < 120; ++i)
    pattern += "*a";
  EXPECT_FALSE(fits_pattern(pattern + "b", name));
}

TEST(name_pattern, names_the_layer_of_a_parameter) {
  EXPECT_EQ(pattern_of_layer("layer4.1.conv2.weight"), "layer4.1.conv2.*");
  EXPECT_EQ(pattern_of_layer("weight"), "weight");
}

} // namespace
} // namespace ballast
