/// The part of `ballast audit` that reads what is big: checkpoints and model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ballast {

/// What is wrong with checkpoints/ (a checksum, or a state of other steps than
/// the ledger's) and with model.safetensors (not the one that the report
/// names); what is not there is not wrong.
std::vector<std::string> file_problems(const std::filesystem::path& folder);

} // namespace ballast
