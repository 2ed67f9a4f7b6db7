/// What ranks say of each other in their numbers, for people, who know names.
/// Pure.
#pragma once

#include <span>
#include <string>

namespace ballast::coordinator {

/// Every "rank 2" in `text` becomes `names[2]`; what has no name stays.
std::string with_names(const std::string& text,
                       std::span<const std::string> names);

} // namespace ballast::coordinator
