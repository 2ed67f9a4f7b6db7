/// The report of a run as one HTML file that needs nothing else: the curves of
/// its losses, metrics, speed and world, how the data lay, what interrupted it,
/// its events, outcome and job. Made of the files of the run directory, in
/// bounded size whatever the length of the run.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

namespace ballast::monitor {

/// Throws ballast_error{run_dir_unusable} where there is no run. A file that is
/// cut off or damaged is read as far as it goes, and the page says so.
std::string report_page(const std::filesystem::path& run);

/// Curves of some runs over each other, what they came to, and what differs in
/// their jobs. Likewise.
std::string comparison_page(std::span<const std::filesystem::path> runs);
/// [{"pointer": "/train/epochs", "values": [of each run]}]; null: it has none.
nlohmann::json job_differences(std::span<const std::filesystem::path> runs);

} // namespace ballast::monitor
