#include "cli/terminate.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace ballast {

namespace {

[[noreturn]] void explain() {
  const char* why = "std::terminate was called without an exception";
  // Kept alive here: what() must outlive the handler below.
  static std::exception_ptr thrown;
  thrown = std::current_exception();
  if (thrown)
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      why = error.what();
    } catch (...) {
      why = "an exception of unknown type";
    }
  std::fprintf(stderr, "ballast: internal error: %s\n", why);
  std::fflush(stderr);
  std::_Exit(1);
}

} // namespace

void explain_terminate() {
  std::set_terminate(explain);
}

} // namespace ballast
