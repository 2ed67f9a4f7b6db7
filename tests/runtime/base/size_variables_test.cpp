// Goal: a size in the environment is taken as meant, or refused by name.
// Method: tables.
#include "runtime/base/size_variables.hpp"

#include <gmock/gmock.h>

namespace ballast {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(size_variables, say_nothing_where_they_are_not_set) {
  for (const char* text : {static_cast<const char*>(nullptr), ""}) {
    for (const size_setting& read :
         {read_cache_limit(text), read_memory(text)}) {
      EXPECT_FALSE(read.bytes);
      EXPECT_FALSE(read.mistake);
    }
  }
}

TEST(size_variables, are_taken_in_their_unit) {
  EXPECT_EQ(read_cache_limit("0").bytes, 0U);
  EXPECT_EQ(read_cache_limit("0.5").bytes, 500'000'000U);
  EXPECT_EQ(read_cache_limit("2e1").bytes, 20'000'000'000U);
  EXPECT_EQ(read_memory("1").bytes, uint64_t{1} << 20);
  EXPECT_EQ(read_memory("4096").bytes, uint64_t{1} << 32);
}

TEST(size_variables, are_refused_with_name_value_and_what_is_expected) {
  for (const char* text : {"-1", "20x", "abc", "nan", "inf", "1e9", " 20"}) {
    const size_setting read = read_cache_limit(text);
    EXPECT_FALSE(read.bytes) << text;
    EXPECT_EQ(read.mistake.code, errc::usage) << text;
    EXPECT_THAT(read.mistake.message,
                AllOf(HasSubstr("BALLAST_CACHE_LIMIT_GB is '" +
                                std::string(text) + "'"),
                      HasSubstr("gigabytes")));
  }
  for (const char* text : {"-1", "20x", "abc", "0", "1.5", "1000000001"}) {
    const size_setting read = read_memory(text);
    EXPECT_FALSE(read.bytes) << text;
    EXPECT_EQ(read.mistake.code, errc::usage) << text;
    EXPECT_THAT(read.mistake.message, AllOf(HasSubstr("BALLAST_MEMORY_MB is '" +
                                                      std::string(text) + "'"),
                                            HasSubstr("MiB")));
  }
  EXPECT_THAT(read_memory("1\n2").mistake.message, HasSubstr("'1\\n2'"));
}

} // namespace
} // namespace ballast
