/// Turns an exception into a message for users. Standard exceptions that mean
/// that the machine ran out of a resource name neither the resource nor the
/// remedy; this adds both. Pure.
#pragma once

#include <exception>
#include <string>

namespace ballast {

/// A constant, because reporting it must not allocate.
constexpr const char* out_of_memory_text =
    "out of memory; make some free, raise its limit (`ulimit -v`, that of the "
    "container), or take fewer workers or rows";

std::string thrown_text(const std::exception& thrown);

} // namespace ballast
