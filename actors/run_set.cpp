#include "actors/run_set.hpp"

#include "actors/local_protocol.hpp"
#include "data/fitting/state_files.hpp"
#include "data/prepared/set_tables.hpp"
#include "data/source/row_faults.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/text_digest.hpp"
#include "store/damaged_tail.hpp"
#include "store/json_file.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace ballast::actors {

namespace {

constexpr const char* name = "manifest.json";

std::string digest_of(const nlohmann::json& about) {
  return digest_text(text_digest(0, json_text(about)));
}

/// The manifest with its chunks; without, if its table cannot be read.
ledger::manifest with_chunks(const nlohmann::json& about,
                             const std::filesystem::path& folder) {
  auto out = about.get<ledger::manifest>();
  try {
    data::read_chunks(folder, out);
  } catch (const ballast_error& e) {
    monitor::log().warn("{}", e.what());
  }
  return out;
}

/// The paths of its files, of a prepared set as it was made.
std::vector<std::string> sources_of(const nlohmann::json& manifest) {
  return manifest.is_object()
             ? manifest.value("sources", std::vector<std::string>())
             : std::vector<std::string>();
}

/// A set that is found in the cache may have been made of the same files
/// elsewhere: the lines with the paths of this run.
std::string with_paths_of_run(const std::string& lines,
                              const set_prepared& made) {
  std::ifstream in(made.quarantine.parent_path() / name);
  return data::with_other_files(
      lines, sources_of(nlohmann::json::parse(in, nullptr, false)),
      sources_of(nlohmann::json::parse(made.manifest, nullptr, false)));
}

/// Where to look for what differs.
std::string difference(const ledger::manifest& before,
                       const ledger::manifest& now) {
  if (before.train_rows != now.train_rows)
    return "it has " + std::to_string(now.train_rows) +
           " training rows now, before it had " +
           std::to_string(before.train_rows);
  size_t count = std::min(before.train.size(), now.train.size());
  for (size_t i = 0; i < count; ++i)
    if (before.train[i].checksum != now.train[i].checksum) {
      const std::vector<ledger::id_run>& rows = now.train[i].source_rows;
      return "the first change is in chunk " + std::to_string(i) +
             (rows.empty()
                  ? ""
                  : ", which begins with row " +
                        std::to_string(rows[0].first + 1) + " of the source");
    }
  return before.test_rows != now.test_rows || before.train.size() == count
             ? "its test rows, its sources or how they are prepared differ"
             : "its chunks are cut differently";
}

} // namespace

std::string run_set::begin(const set_prepared& made) {
  directory_.write_file(name, made.manifest, store::outlives::power);
  return digest_of(nlohmann::json::parse(made.manifest));
}

void run_set::check(const set_prepared& made, const std::string& digest) {
  nlohmann::json now = nlohmann::json::parse(made.manifest);
  // Earlier builds did not name the columns: a run of theirs goes on.
  if (digest_of(now) != digest)
    now.erase("columns");
  nlohmann::json kept = store::read_json_file(directory_.file(name));
  std::error_code none;
  const bool was_there = std::filesystem::exists(directory_.file(name), none);
  bool whole = kept.is_object() && digest_of(kept) == digest;
  if (digest_of(now) != digest)
    throw ballast_error(
        errc::run_dir_unusable,
        "the training data have changed since the run in " +
            directory_.path().string() + " began" +
            (whole ? ": " + difference(with_chunks(kept, directory_.path()),
                                       with_chunks(now, made.tables))
                   : "") +
            "; it cannot go on with others");
  if (whole)
    return;
  std::string why = was_there ? "was damaged or changed" : "was missing";
  if (was_there)
    std::filesystem::rename(directory_.file(name),
                            store::damaged_name(directory_.file(name)));
  directory_.write_file(name, json_text(now), store::outlives::power);
  notices_.warn(
      std::string(name) + " " + why +
      "; it is made again from the prepared data, which are those that the "
      "run began with");
  notices_.events()->append(coordinator::events::manifest_restored{why});
}

void run_set::keep_rejected(const set_prepared& made) {
  rejected_ = made.rejected;
  if (!made.rejected)
    return;
  const std::filesystem::path to = directory_.file(data::quarantine_name);
  std::error_code none;
  if (!made.quarantine.empty() && !std::filesystem::exists(to, none)) {
    std::ifstream in(made.quarantine, std::ios::binary);
    const std::string lines(std::istreambuf_iterator<char>(in), {});
    if (!in)
      return notices_.warn(made.quarantine.string() +
                           ": cannot be read; the rows that were left out are "
                           "counted in manifest.json alone");
    directory_.write_file(data::quarantine_name, with_paths_of_run(lines, made),
                          store::outlives::power);
  }
  if (data::any_left_out(*made.rejected))
    notices_.warn(data::rejected_note(
        *made.rejected, made.quarantine.empty() ? "" : to.string()));
}

void run_set::keep_preprocessing(const set_prepared& made) {
  const std::filesystem::path to = directory_.file(data::preprocessing_name);
  std::error_code none;
  if (!made.preprocessing.empty() &&
      !std::filesystem::exists(to / "manifest.json", none))
    data::copy_states(made.preprocessing, to);
}

void run_set::copy_tables(const set_prepared& made) {
  if (!made.tables.empty())
    tables_.begin(made.tables, directory_.path(), directory_.tmp());
}

void run_set::complete_tables() {
  try {
    tables_.complete();
  } catch (const ballast_error& e) {
    if (e.what_failed().code == errc::disk_full)
      throw;
    monitor::log().warn("{}", e.what());
  }
}

std::string run_set::describe(const std::vector<ledger::row_ref>& rows) const {
  std::ifstream in(directory_.file("manifest.json"));
  auto set = nlohmann::json::parse(in).get<ledger::manifest>();
  if (set.tables)
    tables_.complete();
  data::read_chunks(directory_.path(), set);
  data::read_samples(directory_.path(), set);
  return describe_rows(set, rows);
}

} // namespace ballast::actors
