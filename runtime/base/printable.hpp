/// Foreign text (cells, file names, host names, messages of libraries) as it
/// may stand in a message: valid UTF-8, on one line, without control
/// characters. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ballast {

/// No limit on the length.
constexpr size_t any_length = size_t(-1);

/// Bytes that are no UTF-8, and control characters, become \xNN, a backslash
/// stays as it is. At most `characters_max` characters of `text`, then "...";
/// never a part of one.
std::string printable(std::string_view text,
                      size_t characters_max = any_length);

/// How many characters the text has; a byte that is no UTF-8 counts as one.
size_t count_characters(std::string_view text);

/// May it stand in JSON as it is?
bool is_utf8(std::string_view text);

} // namespace ballast
