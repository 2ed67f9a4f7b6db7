// Goal: who has too little of something is told what of, and what to do.
// Method: the exceptions that the standard library throws.
#include "runtime/base/thrown_text.hpp"

#include <cerrno>
#include <gmock/gmock.h>
#include <new>
#include <stdexcept>
#include <system_error>

namespace ballast {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(thrown_text, says_what_there_is_too_little_of) {
  EXPECT_THAT(thrown_text(std::bad_alloc()),
              AllOf(HasSubstr("out of memory"), HasSubstr("ulimit -v")));
  EXPECT_THAT(thrown_text(std::bad_array_new_length()),
              HasSubstr("out of memory"));
  // As std::thread throws it.
  const std::system_error no_thread(EAGAIN, std::generic_category());
  EXPECT_THAT(thrown_text(no_thread),
              AllOf(HasSubstr("cannot start another thread: Resource "
                              "temporarily unavailable"),
                    HasSubstr("ulimit -u")));
}

TEST(thrown_text, leaves_others_as_they_are) {
  EXPECT_EQ(thrown_text(std::runtime_error("why")), "why");
  for (const std::system_error& other :
       {std::system_error(EAGAIN, std::generic_category(), "a socket"),
        std::system_error(EPERM, std::generic_category())})
    EXPECT_EQ(thrown_text(other), other.what());
}

} // namespace
} // namespace ballast
