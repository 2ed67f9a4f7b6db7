/// The part of `ballast audit` that reads the large files: checkpoints and
/// model.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ballast::cli {

/// The problems of checkpoints/ (a checksum, or a state of other steps than the
/// ledger's) and of model.safetensors (not the one that the report names); a
/// missing file is no problem.
std::vector<std::string> file_problems(const std::filesystem::path& folder);

} // namespace ballast::cli
