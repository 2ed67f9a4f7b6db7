#include "cli/terminate.hpp"

#include "runtime/base/thrown_text.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <nlohmann/json.hpp>
#include <string>

namespace ballast::cli {

namespace {

[[noreturn]] void explain() {
  const char* why = "std::terminate was called without an exception";
  const char* kind = "internal error: ";
  std::string text;
  // Kept alive here: what() must outlive the handler below.
  static std::exception_ptr thrown;
  thrown = std::current_exception();
  if (thrown)
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      kind = "";
      why = out_of_memory_text;
    } catch (const std::exception& error) {
      text = thrown_text(error);
      why = text.c_str();
    } catch (...) {
      why = "an exception of unknown type";
    }
  std::fprintf(stderr, "ballast: %s%s\n", kind, why);
  std::fflush(stderr);
  std::_Exit(1);
}

} // namespace

void explain_terminate() {
  std::set_terminate(explain);
}

} // namespace ballast::cli
