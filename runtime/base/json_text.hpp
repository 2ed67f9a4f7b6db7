/// JSON as text: the one place that writes it. Text of others (a file name, a
/// cell, an error of a library) may be no UTF-8, which nlohmann's dump refuses
/// by an exception; here each such byte becomes U+FFFD.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ballast {

/// On one line.
std::string json_text(const nlohmann::json& value);
std::string json_text(const nlohmann::ordered_json& value);

/// On lines, indented by two.
std::string json_lines_text(const nlohmann::json& value);
std::string json_lines_text(const nlohmann::ordered_json& value);

} // namespace ballast
