/// Makes foreign text (cells, file names, host names, library messages) safe
/// for a message: valid UTF-8, one line, no control characters. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ballast {

/// No limit on the length.
constexpr size_t any_length = size_t(-1);

/// Bytes that are not UTF-8 and control characters become \xNN, line ends and
/// tabs \n, \r and \t; a backslash stays. Keeps at most `characters_max` whole
/// characters of `text`, then
/// "...".
std::string printable(std::string_view text,
                      size_t characters_max = any_length);

/// The number of characters in the text; a byte that is not UTF-8 counts as
/// one.
size_t count_characters(std::string_view text);

/// True if the text can be put into JSON unchanged.
bool is_utf8(std::string_view text);

} // namespace ballast
