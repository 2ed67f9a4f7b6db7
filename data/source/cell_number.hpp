/// A cell of a text file as a number, as every reader here understands it.
#pragma once

#include <cstdint>
#include <string_view>

namespace ballast::data {

/// Without blanks and tabs around it.
std::string_view trimmed(std::string_view text);

enum class parsed : uint8_t { number, empty, text };

/// "nan" and "inf" count as numbers, so that they are refused as such; a number
/// beyond double becomes infinite. The decimal point is a point.
parsed parse_number(std::string_view text, double& out);

} // namespace ballast::data
