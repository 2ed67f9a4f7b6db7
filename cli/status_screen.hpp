/// `ballast status`: the answer of GET /v1/status as one screen of text. Absent
/// or null keys are shown as "-". Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ballast::cli {

std::string status_screen(const nlohmann::json& status);

} // namespace ballast::cli
