/// Variables of the environment under which NCCL, or what is built on it, no
/// longer lets a worker leave a broken collective. Pure: the caller reads the
/// environment.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ballast {

struct environment_problem {
  std::string variable;
  std::string value;
  std::string why;
  /// A worker must not train under it; else it is only slow.
  bool fatal = true;
};

/// `value_of` returns null for a variable that is not set (std::getenv).
std::vector<environment_problem> nccl_environment_problems(
    const std::function<const char*(const char*)>& value_of);

/// One line about the first that is fatal; empty if there is none.
std::string nccl_environment_refusal(
    const std::function<const char*(const char*)>& value_of);

} // namespace ballast
