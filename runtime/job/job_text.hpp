/// Strict JSON parsing for documents that users write: errors carry line and
/// column, a duplicate key is an error, and size and depth are limited. Pure
/// functions.
#pragma once

#include "runtime/base/errors.hpp"

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace ballast {

/// Longest accepted job file or control message.
inline constexpr size_t json_text_bytes_max = size_t{1} << 20;
/// Deepest accepted nesting.
inline constexpr size_t json_depth_max = 32;

/// Parses `text` into `out`. On an error, returns it with code `code` and
/// leaves `out` unchanged. `what` names the document in the message ("job",
/// ...).
failure read_json_text(std::string_view text, errc code, std::string_view what,
                       nlohmann::json& out);

/// A value formatted for an error message: short, on one line.
std::string quote_value(const nlohmann::json& value);

} // namespace ballast
