/// Which names nodes may have. A name becomes part of file names in the run
/// directory, of metrics and of messages, and comes from another program. Pure.
#pragma once

#include <string>
#include <string_view>

namespace ballast {

constexpr size_t node_name_max = 64;

/// Letters, digits and "._-", at most 64, not beginning with "." or "-".
bool is_node_name(std::string_view name);
/// Why it is refused, in one line; harmless to print whatever the name holds.
std::string node_name_mistake(std::string_view name);
/// The nearest valid name, for a default that the host chose.
std::string to_node_name(std::string_view wish);

} // namespace ballast
