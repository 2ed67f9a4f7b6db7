/// Validation of node names. Another program chooses the name, and it becomes
/// part of file names in the run directory, of metrics and of messages. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ballast {

constexpr size_t node_name_max = 64;

/// Letters, digits and "._-", at most 64 characters, not beginning with "." or
/// "-".
bool is_node_name(std::string_view name);
/// Why the name is refused, in one printable line, whatever the name holds.
std::string node_name_mistake(std::string_view name);
/// The nearest valid name, for a default taken from the host name.
std::string to_node_name(std::string_view wish);

} // namespace ballast
