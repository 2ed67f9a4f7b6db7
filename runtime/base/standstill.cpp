#include "runtime/base/standstill.hpp"

namespace ballast {

std::string standstill::ends(const std::string& who, instant now) {
  if (!since_)
    return {};
  auto took = std::chrono::duration_cast<std::chrono::seconds>(now - *since_);
  since_.reset();
  return told_ ? who + " goes on after " + std::to_string(took.count()) + " s"
               : std::string();
}

std::string standstill::sentence(const std::string& who, instant now) {
  if (!since_ || told_ || now - *since_ < tell_after)
    return {};
  told_ = true;
  return who + " is stopped (state T): waits until it continues";
}

} // namespace ballast
