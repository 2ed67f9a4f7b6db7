/// Checks for programmer errors: conditions that no input can violate. Enabled
/// in release builds.
#pragma once

#include <string>

namespace ballast {

/// Prints the failed condition and its location to stderr and aborts the
/// process.
[[noreturn]] void check_failed(const char* file, int line,
                               const char* condition, const std::string& why);

} // namespace ballast

#define BALLAST_CHECK(condition, why)                                          \
  do {                                                                         \
    if (!(condition))                                                          \
      ::ballast::check_failed(__FILE__, __LINE__, #condition, (why));          \
  } while (false)
