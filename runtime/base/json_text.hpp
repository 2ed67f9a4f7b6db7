/// Serialises JSON; the only place that does. Text from outside (file names,
/// table cells, library errors) may be invalid UTF-8, for which nlohmann's dump
/// throws; here each invalid byte becomes U+FFFD.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ballast {

/// On one line.
std::string json_text(const nlohmann::json& value);
std::string json_text(const nlohmann::ordered_json& value);

/// On several lines, indented by two spaces.
std::string json_lines_text(const nlohmann::json& value);
std::string json_lines_text(const nlohmann::ordered_json& value);

} // namespace ballast
