/// What `ballast audit` finds in a run directory: the records, and the large
/// files.
#pragma once

#include "runtime/ledger/audit.hpp"

#include <filesystem>

namespace ballast::cli {

/// monitor::audit_run_directory(), and the problems of checkpoints/ (a
/// checksum, or a state of other steps than the ledger's) and of
/// model.safetensors (not the one that the report names); a missing file is no
/// problem. Throws as that does.
ledger::audit_report audit_all(const std::filesystem::path& folder);

/// There is a model.safetensors, and report.json has no hash of it: all died
/// just between the two. What it holds only a replay can tell.
bool has_unnamed_model(const std::filesystem::path& folder);

} // namespace ballast::cli
