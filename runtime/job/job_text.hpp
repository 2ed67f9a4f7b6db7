/// Text to JSON, strictly, for documents that users write: errors carry line
/// and column, a key given twice is an error, and size and depth have limits.
/// Pure functions.
#pragma once

#include "runtime/base/errors.hpp"

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace ballast {

/// Longest job file or control message.
inline constexpr size_t json_text_bytes_max = size_t{1} << 20;
/// Deepest nesting of one.
inline constexpr size_t json_depth_max = 32;

/// Parses `text` into `out`. On an error returns it, with code `code` and
/// `out` untouched. `what` names the document in the message ("job", ...).
failure read_json_text(std::string_view text, errc code, std::string_view what,
                       nlohmann::json& out);

/// The candidate that a person who wrote `word` most likely meant; empty if
/// none is near. Ties go to the earlier candidate.
std::string nearest_word(std::string_view word,
                         const std::vector<std::string>& candidates);

/// A value as it stands in an error message: short, on one line.
std::string quote_value(const nlohmann::json& value);

} // namespace ballast
