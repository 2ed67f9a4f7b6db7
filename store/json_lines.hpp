/// Reads a file of one JSON value a line, as line_file writes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ballast {

/// Calls `use` with every line that ends, and its number from 1; a torn last
/// line is left out, as its writer died in it or is still at it. A line that is
/// no JSON, or in which `use` does not find what it expects (json::exception),
/// goes to `broken`. False where the file cannot be opened; errno says why.
bool for_each_json_line(
    const std::filesystem::path& file,
    const std::function<void(const nlohmann::json&, uint64_t number)>& use,
    const std::function<void(uint64_t number, const std::string& why)>& broken);

} // namespace ballast
