#include "data/checkpoint_store.hpp"

#include "data/content_hash.hpp"
#include "runtime/errors.hpp"
#include "runtime/unique_fd.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <unistd.h>

namespace ballast {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "step-";
constexpr std::string_view unfinished = ".unfinished-";
constexpr const char* state_name = "state.safetensors";
constexpr const char* manifest_name = "manifest.json";

[[noreturn]] void fail(const fs::path& path, const char* action) {
  int number = errno;
  throw ballast_error(number == ENOSPC || number == EDQUOT
                          ? errc::disk_full
                          : errc::run_dir_unusable,
                      std::string("cannot ") + action + " " + path.string() +
                          ": " + std::strerror(number));
}

void sync_folder(const fs::path& folder) {
  unique_fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened)
    ::fsync(opened.get());
}

void write_synced(const fs::path& path, std::string_view bytes) {
  unique_fd file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file)
    fail(path, "make");
  while (!bytes.empty()) {
    ssize_t count = ::write(file.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      fail(path, "write");
    bytes.remove_prefix(size_t(count));
  }
  if (::fdatasync(file.get()) != 0)
    fail(path, "sync");
}

std::string hash_of(std::string_view bytes) {
  content_hash hash;
  hash.update(bytes);
  return hex16(hash.digest());
}

/// The step in a folder's name, if it is one of ours.
std::optional<step_number> step_of(const fs::path& folder) {
  std::string name = folder.filename().string();
  if (!name.starts_with(prefix) || name.size() > prefix.size() + 18)
    return std::nullopt;
  uint64_t out = 0;
  for (char c : name.substr(prefix.size())) {
    if (c < '0' || c > '9')
      return std::nullopt;
    out = out * 10 + uint64_t(c - '0');
  }
  return step_number{out};
}

bool whole(const fs::path& folder, step_number step) {
  std::ifstream in(folder / manifest_name);
  nlohmann::json about = nlohmann::json::parse(in, nullptr, false);
  if (!about.is_object() || about.value("step", uint64_t{0}) != value(step))
    return false;
  std::ifstream state(folder / state_name, std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(state), {});
  return about.value("bytes", uint64_t{0}) == bytes.size() &&
         about.value("xxh64", "") == hash_of(bytes);
}

} // namespace

checkpoint_store::checkpoint_store(fs::path folder)
    : folder_(std::move(folder)) {}

stored_checkpoint checkpoint_store::publish(step_number step,
                                            epoch_number epoch,
                                            const std::string& run,
                                            std::string_view state,
                                            uint32_t keep) const {
  fs::path staged = folder_ / (std::string(unfinished) + to_string(step));
  fs::path place = folder_ / (std::string(prefix) + to_string(step));
  std::error_code problem;
  try {
    fs::remove_all(staged, problem);
    if (!fs::create_directory(staged, problem)) {
      errno = problem.value();
      fail(staged, "make");
    }
    write_synced(staged / state_name, state);
    nlohmann::ordered_json about{{"run", run},
                                 {"step", value(step)},
                                 {"epoch", value(epoch)},
                                 {"bytes", state.size()},
                                 {"xxh64", hash_of(state)}};
    write_synced(staged / manifest_name, about.dump(2) + "\n");
    sync_folder(staged);
    fs::remove_all(place, problem); // of steps that were undone
    if (::rename(staged.c_str(), place.c_str()) != 0)
      fail(place, "publish");
    sync_folder(folder_);
  } catch (...) {
    fs::remove_all(staged, problem);
    throw;
  }
  std::vector<step_number> there;
  for (const auto& entry : fs::directory_iterator(folder_, problem))
    if (auto one = step_of(entry.path()))
      there.push_back(*one);
  std::sort(there.begin(), there.end());
  for (size_t i = 0; i + keep < there.size(); ++i)
    fs::remove_all(folder_ / (std::string(prefix) + to_string(there[i])),
                   problem);
  return {step, place / state_name};
}

std::vector<stored_checkpoint> checkpoint_store::list() const {
  std::vector<stored_checkpoint> out;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder_, problem))
    if (auto step = step_of(entry.path()); step && whole(entry.path(), *step))
      out.push_back({*step, entry.path() / state_name});
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.step < b.step; });
  return out;
}

void checkpoint_store::remove_after(step_number step) const {
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder_, problem))
    if (auto one = step_of(entry.path()); one && *one > step)
      fs::remove_all(entry.path(), problem);
}

void checkpoint_store::remove_unfinished() const {
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder_, problem))
    if (entry.path().filename().string().starts_with(unfinished))
      fs::remove_all(entry.path(), problem);
}

} // namespace ballast
