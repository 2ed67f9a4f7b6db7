/// Values that stand in the text of an expression, and the names of types.
/// Pure; errors are ballast_error{invalid_job} that point into the text.
#pragma once

#include "data/expression/expression_text.hpp"
#include "data/expression/syntax.hpp"

#include <string>

namespace ballast::data {

/// Of an integer or a decimal, with the minus sign that stood before it.
literal_value read_number(const expression_source& source,
                          const expression_token& token, bool minus);
/// Of the text after `date` or `timestamp`.
literal_value read_moment(const expression_source& source,
                          const expression_token& token, bool with_time);
/// The canonical name of a type that `cast` knows ("text" of "string"); empty
/// if there is none.
std::string cast_type(const std::string& lower);

} // namespace ballast::data
