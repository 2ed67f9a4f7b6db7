/// Environment variables that keep a worker from leaving a broken collective,
/// through NCCL or libraries on top of it. Pure: the caller reads the
/// environment.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace ballast::gpu {

struct environment_problem {
  std::string variable;
  std::string value;
  std::string why;
  /// A worker must not train with it; otherwise it is only slow.
  bool fatal = true;
};

/// `value_of` returns null for an unset variable (std::getenv).
std::vector<environment_problem> nccl_environment_problems(
    const std::function<const char*(const char*)>& value_of);

/// One line about the first fatal one; empty if there is none.
std::string nccl_environment_refusal(
    const std::function<const char*(const char*)>& value_of);

} // namespace ballast::gpu
