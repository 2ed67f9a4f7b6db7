#include "data/model/checkpoint_store.hpp"

#include "data/model/checkpoint_writing.hpp"
#include "data/model/state_blocks.hpp"
#include "data/model/state_checksums.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/unique_fd.hpp"
#include "store/sync_path.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ballast::data {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "step-";
constexpr std::string_view unfinished = ".unfinished-";
constexpr std::string_view removed = ".removed-";
constexpr const char* state_name = "state.safetensors";
constexpr const char* manifest_name = "manifest.json";
constexpr uint32_t check_threads_max = 8;
constexpr uint32_t copy_threads = 2;

/// No atomic_file: the folder becomes whole at once, by its rename in
/// publish(). A rename of each file in it would cost two more syncs of the
/// folder, and add nothing.
void write_manifest(const fs::path& path, std::string_view text) {
  const unique_fd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file)
    writing_failed(path, "make");
  reach_writing("checkpoint.write", path);
  write_bytes_at(file.get(), 0, text, path);
  reach_writing("checkpoint.sync", path);
  if (::fdatasync(file.get()) != 0)
    writing_failed(path, "sync");
}

/// The step in a checkpoint folder's name; nothing for other names.
std::optional<step_number> step_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(prefix) || name.size() > prefix.size() + 18)
    return std::nullopt;
  uint64_t out = 0;
  for (char c : name.substr(prefix.size())) {
    if (c < '0' || c > '9')
      return std::nullopt;
    out = out * 10 + uint64_t(c - '0');
  }
  // "step-" and "step-080" are no names of ours.
  if (out == 0 || name != std::string(prefix) + std::to_string(out))
    return std::nullopt;
  return step_number{out};
}

/// The step named in the header of the state file; nothing if there is none.
std::optional<std::string> step_inside(const fs::path& state) {
  constexpr uint64_t header_max = 100'000'000;
  std::ifstream in(state, std::ios::binary);
  unsigned char size[8] = {};
  in.read(reinterpret_cast<char*>(size), sizeof size);
  uint64_t bytes = 0;
  for (int i = 7; i >= 0; --i)
    bytes = bytes << 8 | size[i];
  if (!in || bytes > header_max)
    return std::nullopt;
  std::string text(bytes, '\0');
  in.read(text.data(), std::streamsize(bytes));
  nlohmann::json header = nlohmann::json::parse(text, nullptr, false);
  if (!in || !header.is_object() || !header.contains("__metadata__"))
    return std::nullopt;
  const nlohmann::json& about = header["__metadata__"];
  if (!about.is_object() || !about.contains("step") ||
      !about["step"].is_string())
    return std::nullopt;
  return about["step"].get<std::string>();
}

uint64_t number_of_hex(const std::string& text) {
  return text.size() == 16 &&
                 text.find_first_not_of("0123456789abcdef") == std::string::npos
             ? std::stoull(text, nullptr, 16)
             : 0;
}

nlohmann::ordered_json about(const ledger::checkpoint_identity& holds,
                             const std::string& run,
                             const state_checksums& state) {
  nlohmann::ordered_json out{{"run", run},
                             {"step", value(holds.step)},
                             {"epoch", value(holds.epoch)},
                             {"generation", value(holds.generation)},
                             {"plan", value(holds.plan)},
                             {"lineage", ledger::lineage_text(holds.lineage)}};
  out.update(nlohmann::ordered_json(as_json(state)));
  return out;
}

/// Why a state file is not what it was; nothing: it is.
std::string difference(const fs::path& file, const nlohmann::json& manifest) {
  std::string why;
  const std::optional<state_checksums> expected = checksums_in(manifest, why);
  if (!expected)
    return std::string("its ") + manifest_name + " " + why;
  try {
    check_state_file(file, *expected, check_threads_max);
  } catch (const ballast_error& e) {
    return e.what();
  }
  return {};
}

/// Reads a checkpoint's manifest; sets `problem` if the files contradict it.
stored_checkpoint look_at(const fs::path& folder, step_number step,
                          bool every_byte) {
  stored_checkpoint out;
  out.holds.step = step;
  out.file = folder / state_name;
  // To open a pipe would wait for whoever writes into it.
  std::error_code none;
  for (const char* name : {manifest_name, state_name})
    if (const fs::file_status found = fs::status(folder / name, none);
        fs::exists(found) && !fs::is_regular_file(found)) {
      out.problem = std::string("its ") + name + " is no file";
      return out;
    }
  std::ifstream in(folder / manifest_name);
  nlohmann::json told = nlohmann::json::parse(in, nullptr, false);
  if (!told.is_object()) {
    out.problem = std::string("its ") + manifest_name +
                  (fs::exists(folder / manifest_name, none) ? " cannot be read"
                                                            : " is missing");
    return out;
  }
  try {
    out.holds.epoch = epoch_number{told.value("epoch", uint64_t{0})};
    out.holds.generation = generation{told.value("generation", uint64_t{0})};
    out.holds.plan = plan_number{told.value("plan", uint64_t{0})};
    out.holds.lineage = number_of_hex(told.value("lineage", ""));
    auto named = told.value("step", uint64_t{0});
    auto expected = told.value("bytes", uint64_t{0});
    const uint64_t found = fs::file_size(out.file, none);
    const std::optional<std::string> inside = step_inside(out.file);
    if (named != value(step))
      out.problem = "its manifest is of step " + std::to_string(named);
    else if (none || found != expected)
      out.problem = "its state has " + std::to_string(none ? 0 : found) +
                    " bytes of " + std::to_string(expected);
    else if (std::string why =
                 every_byte ? difference(out.file, told) : std::string();
             !why.empty())
      out.problem = std::move(why);
    else if (!inside)
      out.problem = "its state has no header that names its step";
    else if (*inside != to_string(step))
      out.problem = "its state is that of step " + *inside;
  } catch (const nlohmann::json::exception&) {
    out.problem = std::string("its ") + manifest_name + " is damaged";
  }
  return out;
}

/// checkpoints/aside-K with the first free K.
fs::path make_aside(const fs::path& folder) {
  for (int number = 1;; ++number) {
    fs::path place = folder / ("aside-" + std::to_string(number));
    if (::mkdir(place.c_str(), 0755) == 0)
      return place;
    if (errno != EEXIST)
      writing_failed(place, "make");
  }
}

void move_into(const fs::path& from, const fs::path& aside) {
  if (::rename(from.c_str(), (aside / from.filename()).c_str()) != 0)
    writing_failed(from, "move away");
}

fs::path staged_in(const fs::path& folder, step_number step) {
  return folder / (std::string(unfinished) + to_string(step));
}

fs::path place_in(const fs::path& folder, step_number step) {
  return folder / (std::string(prefix) + to_string(step));
}

} // namespace

state_source saved_state(const fs::path& file) {
  const state_checksums expected = checksums_beside(file);
  return {expected.bytes, [file, expected](const unfinished_state& into) {
            check_state_file(file, expected, copy_threads,
                             [&into](uint64_t at, std::string_view bytes) {
                               into.write(at, bytes);
                             });
            return expected.parts;
          }};
}

checkpoint_store::checkpoint_store(fs::path folder)
    : folder_(std::move(folder)) {}

void checkpoint_store::stage(const ledger::checkpoint_identity& holds,
                             const std::string& run,
                             const state_source& state) const {
  fs::path staged = staged_in(folder_, holds.step);
  std::error_code problem;
  try {
    fs::remove_all(staged, problem);
    if (!fs::create_directory(staged, problem)) {
      errno = problem.value();
      writing_failed(staged, "make");
    }
    const unfinished_state file(staged / state_name, state.bytes);
    const state_checksums written{state.bytes, state.write(file)};
    file.end();
    write_manifest(staged / manifest_name,
                   json_lines_text(about(holds, run, written)) + "\n");
    store::sync_path(staged);
  } catch (...) {
    fs::remove_all(staged, problem);
    throw;
  }
}

stored_checkpoint
checkpoint_store::publish(const ledger::checkpoint_identity& holds) const {
  fs::path staged = staged_in(folder_, holds.step);
  fs::path place = place_in(folder_, holds.step);
  try {
    reach_writing("checkpoint.rename", place);
    set_aside(place / state_name); // of undone steps
    if (::rename(staged.c_str(), place.c_str()) != 0)
      writing_failed(place, "publish");
    store::sync_path(folder_);
  } catch (...) {
    drop(holds);
    throw;
  }
  return {holds, place / state_name, {}};
}

void checkpoint_store::drop(const ledger::checkpoint_identity& holds) const {
  std::error_code problem;
  fs::remove_all(staged_in(folder_, holds.step), problem);
}

void checkpoint_store::remove(step_number step) const {
  // One that is half removed is no checkpoint: it loses its name first.
  std::error_code problem;
  const fs::path going = folder_ / (std::string(removed) + to_string(step));
  fs::remove_all(going, problem);
  fs::rename(place_in(folder_, step), going, problem);
  fs::remove_all(going, problem);
}

std::vector<stored_checkpoint> checkpoint_store::list() const {
  return all(false);
}

std::vector<stored_checkpoint> checkpoint_store::inspect() const {
  return all(true);
}

std::vector<stored_checkpoint> checkpoint_store::all(bool every_byte) const {
  std::vector<stored_checkpoint> out;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder_, problem))
    if (auto step = step_of(entry.path()))
      out.push_back(look_at(entry.path(), *step, every_byte));
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.holds.step < b.holds.step;
  });
  return out;
}

fs::path checkpoint_store::set_aside(const fs::path& file) const {
  fs::path from = file.parent_path();
  std::error_code ignored;
  if (!fs::exists(from, ignored))
    return {};
  fs::path aside = make_aside(folder_);
  move_into(from, aside);
  store::sync_path(folder_);
  return aside / from.filename();
}

size_t checkpoint_store::set_aside_after(step_number step) const {
  std::vector<fs::path> behind;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder_, problem))
    if (auto one = step_of(entry.path()); one && *one > step)
      behind.push_back(entry.path());
  if (behind.empty())
    return 0;
  fs::path aside = make_aside(folder_);
  for (const fs::path& one : behind)
    move_into(one, aside);
  store::sync_path(folder_);
  return behind.size();
}

void checkpoint_store::remove_unfinished() const {
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder_, problem))
    if (const std::string name = entry.path().filename().string();
        name.starts_with(unfinished) || name.starts_with(removed))
      fs::remove_all(entry.path(), problem);
}

} // namespace ballast::data
