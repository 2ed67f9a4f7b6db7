/// Dates and times of an expression's text, in ISO 8601. Pure functions.
#pragma once

#include "data/expression/syntax.hpp"

#include <string>
#include <string_view>

namespace ballast::data {

/// YYYY-MM-DD, of the years 1 to 9999; false if it is none.
bool read_date(std::string_view text, literal_date& out);
/// YYYY-MM-DD[( |T)HH:MM[:SS[.ffffff]]][Z|+HH:MM|-HH:MM]; without a time of
/// day midnight.
bool read_time(std::string_view text, literal_time& out);

std::string print_date(const literal_date& date);
std::string print_time(const literal_time& time);

} // namespace ballast::data
