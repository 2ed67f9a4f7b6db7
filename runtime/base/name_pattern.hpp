/// Patterns by which a user names several things at once: `*` stands for any
/// text, also for none, every other character for itself. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace ballast {

/// Whether the whole name is of that form. Takes at most the product of both
/// lengths.
bool fits_pattern(std::string_view pattern, std::string_view name);

/// The pattern of a parameter's layer, "fc2.*" of "fc2.weight": the one that a
/// user most likely wants who meets that name.
std::string pattern_of_layer(std::string_view name);

} // namespace ballast
