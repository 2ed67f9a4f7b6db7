/// The audit of a run directory: reads the records that
/// runtime/ledger/audit.hpp compares (ledger.sqlite, manifest.json,
/// steps.jsonl, trace/*.jsonl and report.json) and changes nothing. Works while
/// the run goes on: a torn last line counts as absent. Any thread.
#pragma once

#include "monitor/report.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/ledger/audit.hpp"
#include "runtime/ledger/lineage.hpp"

#include <filesystem>
#include <optional>

namespace ballast::monitor {

/// Throws ballast_error{run_dir_unusable} if a required file is missing or
/// unreadable, because nothing can be said then. A file that contradicts
/// another is a problem in the report, not an error.
ledger::audit_report audit_run_directory(const std::filesystem::path& folder);

/// What a checkpoint of that step must hold according to the ledger. Nothing if
/// an earlier build wrote the journal, or it contradicts itself.
std::optional<ledger::checkpoint_identity>
identity_by_ledger(const std::filesystem::path& folder, step_number step);

/// For report.json: the worse of ledger and traces. Throws as
/// audit_run_directory.
audit_result audit_counts(const std::filesystem::path& folder);

} // namespace ballast::monitor
