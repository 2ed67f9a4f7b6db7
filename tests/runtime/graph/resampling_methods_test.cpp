// Goal: the words of a method of resampling and of its options are read, and
// refused with what was expected; the reference is the committed one. Method:
// tables.
#include "runtime/graph/resampling_methods.hpp"

#include "tests/source_root.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace ballast::graph {
namespace {

std::string refusal(std::string_view method,
                    const std::vector<std::string>& options = {}) {
  return parse_resampling(method, options).mistake.message;
}

TEST(resampling_methods, have_all_of_their_options_whether_said_or_not) {
  const resampling_result read =
      parse_resampling("smote", {"k_neighbors=3", "k_policy=shrink"});
  ASSERT_FALSE(read.mistake);
  EXPECT_EQ(read.value.what, resampling::smote);
  EXPECT_EQ(read.value.get<uint64_t>("k_neighbors"), 3u);
  EXPECT_EQ(read.value.get<std::string>("k_policy"), "shrink");
  EXPECT_EQ(read.value.get<std::string>("sampling_strategy"), "auto");
}

TEST(resampling_methods, are_read_with_equals_signs_in_values) {
  const resampling_result read =
      parse_resampling("enn", {R"(sampling_strategy=["a=b"])"});
  EXPECT_EQ(read.value.get<std::string>("sampling_strategy"), R"(["a=b"])");
}

TEST(resampling_methods, that_are_not_known_are_refused_with_the_nearest) {
  EXPECT_THAT(refusal("smot"),
              testing::AllOf(testing::HasSubstr("there is no 'smot'"),
                             testing::HasSubstr("did you mean smote?")));
}

TEST(resampling_methods, refuse_options_with_what_was_expected) {
  struct refused {
    std::string method, option;
    std::vector<std::string> said;
  };
  for (const refused& one : std::vector<refused>{
           {"smote",
            "k_neighbor=5",
            {"no option 'k_neighbor'", "did you mean k_neighbors?"}},
           {"smote", "k_neighbors", {"expected NAME=VALUE"}},
           {"smote", "k_neighbors=0", {"a whole number from 1 to 1000"}},
           {"smote", "k_neighbors=2.5", {"a whole number", "found 2.5"}},
           {"smote", "k_neighbors=many", {"a whole number", "found many"}},
           {"smote", "k_policy=maybe", {"error, shrink, duplicate"}},
           {"random_under", "replacement=yes", {"true or false"}},
           {"near_miss", "version=4", {"a whole number from 1 to 3"}},
           {"random_over", "shrinkage=-1", {"a number from 0 to"}},
           {"random_over", "shrinkage=nan", {"a number from 0 to"}}})
    for (const std::string& part : one.said)
      EXPECT_THAT(refusal(one.method, {one.option}), testing::HasSubstr(part))
          << one.option;
}

TEST(resampling_methods, are_in_the_order_of_their_names) {
  size_t place = 0;
  for (const resampling_about& one : resampling_catalogue())
    EXPECT_EQ(size_t(one.what), place++);
  EXPECT_EQ(place, words_of<resampling>.size());
}

TEST(resampling_reference, is_in_the_committed_document) {
  std::ifstream in(source_root() / "docs/resampling.md");
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_NE(text.str().find(resampling_reference()), std::string::npos)
      << "put what `ballast docs resampling` prints into docs/resampling.md";
}

} // namespace
} // namespace ballast::graph
