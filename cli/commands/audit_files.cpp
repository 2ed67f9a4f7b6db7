#include "cli/commands/audit_files.hpp"

#include "actors/run_parent.hpp"
#include "data/export/model_folder.hpp"
#include "data/model/checkpoint_store.hpp"
#include "data/model/parameters_digest.hpp"
#include "monitor/audit_run.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/text_digest.hpp"
#include "runtime/coordinator/run_phase.hpp"
#include "runtime/ledger/lineage.hpp"
#include "store/journal.hpp"
#include "store/json_file.hpp"

#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace ballast::cli {

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

void check_checkpoints(const fs::path& folder, std::vector<std::string>& out) {
  for (const data::stored_checkpoint& one :
       data::checkpoint_store(folder / "checkpoints").inspect()) {
    std::string name = "checkpoints/step-" + to_string(one.holds.step) + ": ";
    if (!one.problem.empty()) {
      out.push_back(name + one.problem);
      continue;
    }
    const auto expected = monitor::identity_by_ledger(folder, one.holds.step);
    if (expected && *expected != one.holds)
      out.push_back(name + why_other(one.holds, *expected));
  }
}

bool there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

bool names_model(const json& report) {
  return report.is_object() && report.contains("weights_sha256") &&
         report["weights_sha256"].is_string();
}

/// `report`: of a finished run; other runs have no model.
void check_model(const fs::path& folder, const json& report,
                 std::vector<std::string>& out) {
  if (!names_model(report))
    return;
  const bool model = there(folder / "model.safetensors");
  if (!model &&
      report.value("state", "") == to_string(coordinator::run_phase::failed))
    return; // which reports the reason
  if (!model)
    return out.push_back("model.safetensors is missing, though report.json "
                         "names it by weights_sha256");
  try {
    const data::weights_file file((folder / "model.safetensors").string());
    const auto step = file.metadata().find("step");
    if (step != file.metadata().end() && report.contains("model_step") &&
        json_text(report["model_step"]) != step->second)
      out.push_back("model.safetensors is that of step " + step->second +
                    ", report.json has model_step " +
                    json_text(report["model_step"]));
    if (data::parameters_sha256(file) !=
        report["weights_sha256"].get<std::string>())
      out.push_back("model.safetensors is not the model that report.json "
                    "names by weights_sha256");
  } catch (const ballast_error& e) {
    out.push_back(std::string("model.safetensors: ") + e.what());
  }
}

/// What the run began with, and where that came from.
void check_parent(const fs::path& folder, const json& report,
                  const store::journal_content& journal,
                  std::vector<std::string>& out) {
  if (failure changed = actors::parent_changed(folder))
    out.push_back(changed.message);
  const json::json_pointer from("/init/from");
  const bool branched = journal.run && journal.run->job.value(from, "") != "";
  if (!branched)
    return;
  const auto kept = actors::kept_parent(folder);
  if (!kept)
    return out.push_back("parent.safetensors or parent.json, what the run "
                         "began with, is missing or damaged");
  const json told = {{"run", kept->run},
                     {"step", value(kept->step)},
                     {"sha256", kept->sha256}};
  if (report.is_object() && report.value("parent", told) != told)
    out.push_back("report.json has another parent than parent.json");
}

/// The folder that explains itself has a second name of the model, or a copy.
void check_model_folder(const fs::path& folder, const json& report,
                        std::vector<std::string>& out) {
  const fs::path place = folder / data::model_folder_name;
  const fs::path model = place / "model.safetensors";
  std::error_code none;
  if (!names_model(report) || !fs::is_directory(place, none))
    return;
  if (!there(model))
    return out.push_back("model/model.safetensors is missing");
  const auto named = report["weights_sha256"].get<std::string>();
  const auto told = data::told_parameters_sha256(place);
  if (told && *told != named)
    out.push_back("model/card.json has another weights_sha256 than "
                  "report.json");
  if (fs::equivalent(model, folder / "model.safetensors", none))
    return;
  try {
    const data::weights_file file(model.string());
    if (data::parameters_sha256(file) != named)
      out.push_back("model/model.safetensors is not the model that "
                    "report.json names by weights_sha256");
  } catch (const ballast_error& e) {
    out.push_back(std::string("model/model.safetensors: ") + e.what());
  }
}

/// Only its owner can read the key, so other users cannot check it. A finished
/// run is never resumed, so it may be shown without its key.
void check_key(const fs::path& folder, const json& report,
               const store::journal_content& journal,
               std::vector<std::string>& out) {
  const fs::path file = folder / "run.key";
  const bool done =
      report.is_object() && report.value("state", json()) == json("done");
  if (!there(file)) {
    if (!done)
      out.push_back("run.key is missing");
    return;
  }
  if (::access(file.c_str(), R_OK) != 0 || !journal.run ||
      journal.run->identity.empty())
    return;
  std::string token;
  std::ifstream(file) >> token;
  if (digest_text(ledger::run_identity(token, journal.run->name)) !=
      journal.run->identity)
    out.push_back("run.key is not the key that the run began with");
}

/// Reports entries of a wrong kind that the audit does not read otherwise.
void check_kinds(const fs::path& folder, std::vector<std::string>& out) {
  if (!there(folder / "job.json"))
    out.push_back("job.json is missing");
  std::error_code ignored;
  for (const char* name : {"events.jsonl", "undone.jsonl", "coordinator.json",
                           "workers.json", "run.key"})
    if (fs::is_directory(folder / name, ignored))
      out.push_back(std::string(name) + " is a folder, expected a file");
  for (const char* name : {"checkpoints", "trace"})
    if (there(folder / name) && !fs::is_directory(folder / name, ignored))
      out.push_back(std::string(name) + " is a file, expected a folder");
}

} // namespace

ledger::audit_report audit_all(const fs::path& folder) {
  ledger::audit_report out = monitor::audit_run_directory(folder);
  const json report = store::read_json_file(folder / "report.json");
  const store::journal_content journal = store::read_journal(folder);
  std::vector<std::string> found;
  check_kinds(folder, found);
  check_key(folder, report, journal, found);
  check_checkpoints(folder, found);
  check_model(folder, report, found);
  check_model_folder(folder, report, found);
  check_parent(folder, report, journal, found);
  out.problems += found.size();
  out.first_problems.insert(out.first_problems.end(), found.begin(),
                            found.end());
  return out;
}

bool has_unnamed_model(const fs::path& folder) {
  return there(folder / "model.safetensors") &&
         !names_model(store::read_json_file(folder / "report.json"));
}

} // namespace ballast::cli
