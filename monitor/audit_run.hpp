/// The audit of a run directory: reads what runtime/ledger/audit.hpp compares,
/// i.e. ledger.sqlite, manifest.json, steps.jsonl, trace/*.jsonl and
/// report.json, and changes nothing. Works on a run that goes on: a last line
/// that is torn is not there yet. Any thread.
#pragma once

#include "monitor/report.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/ledger/audit.hpp"

#include <filesystem>
#include <optional>

namespace ballast {

/// Throws ballast_error{run_dir_unusable} where a file that is needed is
/// missing or cannot be read: then nothing can be said. What is there and
/// contradicts something else is a problem of the report, not an error.
audit_report audit_run_directory(const std::filesystem::path& folder);

/// Digest of the plans and of the first `steps` steps, as the ledger has them:
/// what a checkpoint of that step and the report name. Nothing where the
/// journal is of an earlier build, or contradicts itself.
std::optional<std::string>
lineage_by_ledger(const std::filesystem::path& folder, step_number steps);

/// For report.json: the worse of ledger and traces. Nothing where the run
/// cannot be audited.
std::optional<audit_result> audit_counts(const std::filesystem::path& folder);

} // namespace ballast
