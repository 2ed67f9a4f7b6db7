/// What an exception says to a user. Those of the standard library that mean
/// that the machine has no more of something say neither what nor what to do.
/// Pure.
#pragma once

#include <exception>
#include <string>

namespace ballast {

/// Needs no memory to be said.
constexpr const char* out_of_memory_text =
    "out of memory; make some free, raise its limit (`ulimit -v`, that of the "
    "container), or take fewer workers or rows";

std::string thrown_text(const std::exception& thrown);

} // namespace ballast
