/// Reads a file with one JSON value in each line, as line_file writes it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ballast::store {

/// Calls `use` with every complete line and its number from 1. A torn last line
/// is skipped: its writer died, or is still writing it. A line that is not
/// JSON, or in which `use` does not find the expected fields (json::exception),
/// goes to `broken`. False if the file cannot be opened; errno says why.
bool for_each_json_line(
    const std::filesystem::path& file,
    const std::function<void(const nlohmann::json&, uint64_t number)>& use,
    const std::function<void(uint64_t number, const std::string& why)>& broken);

/// The same of a file in which no line may be broken; `what` a line is:
/// "step". Throws ballast_error{run_dir_unusable}, which names file and line.
bool for_each_line_of(const std::filesystem::path& file,
                      const std::string& what,
                      const std::function<void(const nlohmann::json&)>& use);

} // namespace ballast::store
