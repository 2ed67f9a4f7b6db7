#include "actors/handler_exception.hpp"

#include "monitor/logs/log.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/thrown_text.hpp"

namespace ballast::actors {

std::string handler_exception_text(const std::string& actor,
                                   const std::exception_ptr& thrown) {
  std::string why = "unknown exception";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& error) {
    why = printable(thrown_text(error));
  } catch (...) {
  }
  std::string out = "internal error in the " + actor + ": " + why;
  monitor::log().error("{}", out);
  return out;
}

} // namespace ballast::actors
