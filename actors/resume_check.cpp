#include "actors/resume_check.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/text_digest.hpp"
#include "runtime/coordinator/parts.hpp"
#include "runtime/ledger/lineage.hpp"
#include "store/json_file.hpp"

#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unistd.h>

namespace ballast::actors {

namespace {

namespace fs = std::filesystem;

bool there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

/// Of a file; 0 where there is none.
uint64_t bytes_of(const fs::path& file) {
  std::error_code problem;
  uint64_t out = fs::file_size(file, problem);
  return problem ? 0 : out;
}

/// Something that only a run leaves whose data were prepared.
const char* trace_of_a_run(const fs::path& folder) {
  if (bytes_of(folder / "steps.jsonl") > 0)
    return "steps.jsonl";
  std::error_code ignored;
  for (const auto& entry :
       fs::directory_iterator(folder / "checkpoints", ignored))
    if (entry.path().filename().string().starts_with("step-"))
      return "checkpoints/";
  return nullptr;
}

[[noreturn]] void refuse(const std::string& what) {
  throw ballast_error(errc::run_dir_unusable, what);
}

void check_file(const fs::path& file) {
  std::error_code ignored;
  const fs::file_status about = fs::status(file, ignored);
  if (fs::exists(about) && !fs::is_regular_file(about))
    refuse(file.string() + " is " +
           (fs::is_directory(about) ? "a folder" : "no file") +
           ", a run has a file of that name. Nothing was changed; put it back, "
           "or move what is there away");
  if (fs::exists(about) && ::access(file.c_str(), R_OK) != 0)
    refuse("cannot read " + file.string() + ": " +
           std::generic_category().message(errno) + ". Nothing was changed");
}

[[noreturn]] void refuse_ledger(const fs::path& file, const std::string& what,
                                const char* proof) {
  refuse(file.string() + " " + what + ", though " + proof +
         " shows that the run had begun: without its ledger it cannot go on. "
         "Nothing was changed; put a whole copy of that file back, or begin "
         "again in another folder");
}

/// Whoever is no worker of the run lacks it.
void check_key(const fs::path& file, const store::journaled_run& run) {
  std::string token;
  if (there(file)) {
    check_file(file);
    std::ifstream(file) >> token;
  }
  if (token.empty())
    refuse(file.string() + (there(file) ? " is empty" : " is missing") +
           ": without it nobody can prove to belong to the run. Nothing was "
           "changed; put it back");
  if (run.identity != digest_text(ledger::run_identity(token, run.name)))
    refuse(file.string() +
           " is not the key that the run began with. Nothing was changed; put "
           "that one back");
}

} // namespace

std::optional<store::journal_content> look_for_run(const fs::path& folder) {
  if (!there(folder))
    refuse("there is no run directory " + folder.string());
  fs::path file = folder / store::journal::file_name;
  if (!there(file) && !there(folder / "job.json") &&
      !there(folder / "run.lock"))
    refuse(folder.string() +
           " holds no run: it has neither job.json nor ledger.sqlite");
  check_file(file);
  const char* proof = trace_of_a_run(folder);
  if (bytes_of(file) == 0) {
    if (proof)
      refuse_ledger(file, there(file) ? "is empty" : "is missing", proof);
    return std::nullopt;
  }
  std::optional<store::journal_content> out;
  try {
    out = store::read_journal(folder, true);
  } catch (const ballast_error& e) {
    if (proof)
      refuse_ledger(file, std::string("cannot be read (") + e.what() + ")",
                    proof);
    // Killed while the journal was made.
    if (!there(folder / "manifest.json"))
      return std::nullopt;
    throw;
  }
  if (!out->run && proof)
    refuse_ledger(file, "names no run", proof);
  if (!out->run)
    return std::nullopt;
  check_key(folder / "run.key", *out->run);
  return out;
}

void check_past_files(const fs::path& folder) {
  for (const char* name : {"steps.jsonl", "events.jsonl", "undone.jsonl",
                           "coordinator.json", "workers.json"})
    check_file(folder / name);
  const nlohmann::json report = store::read_json_file(folder / "report.json");
  if (report.is_object() && report.value("state", nlohmann::json()) ==
                                to_string(coordinator::run_phase::done))
    refuse("the run in " + folder.string() +
           " is done: there is nothing to go on with");
}

std::string other_build(const store::journaled_run& run,
                        const std::string& build) {
  if (run.build == build)
    return {};
  return "the run was begun by build " +
         (run.build.empty() ? "of an earlier format" : run.build) +
         ", this is build " + build +
         ": another one may compute otherwise. Nothing was changed; go on "
         "with the build that began it";
}

} // namespace ballast::actors
