#include "store/run_directory.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"
#include "store/refuse_file.hpp"

#include <cerrno>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace ballast::store {

namespace {

namespace fs = std::filesystem;

constexpr const char* lock_name = "run.lock";
constexpr const char* subfolders[] = {"logs", "trace", "checkpoints", "tmp"};
constexpr int runs_max = 1'000'000;
constexpr const char* choose_another = "choose another one with --run-dir";
constexpr const char* other_place = "choose another place with --run-dir";
constexpr const char* where_it_is =
    "a run goes on in its own folder: let it be written to";

void make_folders(const fs::path& path, const char* remedy = other_place) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    refuse_file(path, "make the folder", error.value(), remedy);
}

/// Locks `folder`/run.lock for this process; the lock ends with it, however it
/// ends.
file_lock take_lock(const fs::path& folder, bool make, const char* if_in_use,
                    const char* remedy = other_place) {
  fs::path file = folder / lock_name;
  file_lock lock(file, {.create = make});
  if (!lock)
    refuse_file(file, "open", lock.error(), remedy);
  if (!lock.take(file_lock::mode::exclusive)) {
    if (lock.error() != 0)
      refuse_file(file, "lock", lock.error(), remedy);
    throw ballast_error(errc::run_dir_in_use,
                        "run directory " + folder.string() + " is in use by " +
                            lock.holder() + "; " + if_in_use);
  }
  if (!lock.write_holder())
    refuse_file(file, "write", lock.error(), remedy);
  return lock;
}

/// True if it contains nothing but a lock file.
bool unused(const fs::path& folder) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error)
    refuse_file(folder, "read the folder", error.value(), other_place);
  for (const fs::directory_entry& entry : entries)
    if (entry.path().filename() != lock_name)
      return false;
  return true;
}

/// All files reach "file.write"; only report.json reaches
/// "file.write.report.json".
int fault_at(const std::string& point, const std::string& name) {
  int fault = fault_point(point.c_str());
  return fault ? fault : fault_point((point + "." + name).c_str());
}

void make_subfolders(const fs::path& path, const char* remedy = other_place) {
  for (const char* name : subfolders)
    make_folders(path / name, remedy);
}

/// A job's name becomes part of a path.
void check_name(const std::string& name) {
  if (name.empty() || name == "." || name == ".." ||
      name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos)
    throw ballast_error(errc::invalid_job,
                        "'" + name +
                            "' cannot name a run: it must be usable as the "
                            "name of a folder",
                        "/name");
}

} // namespace

run_directory run_directory::create(const fs::path& base,
                                    const std::string& name) {
  check_name(name);
  fs::path folder = fs::absolute(base).lexically_normal();
  make_folders(folder);
  for (int number = 1; number <= runs_max; ++number) {
    fs::path path = folder / (name + "-" + std::to_string(number));
    // mkdir decides which process gets the number if several runs start at
    // once.
    if (::mkdir(path.c_str(), 0755) == 0) {
      run_directory made(path, take_lock(path, true, choose_another));
      make_subfolders(path);
      return made;
    }
    if (errno != EEXIST)
      refuse_file(path, "make the folder", errno, other_place);
  }
  throw ballast_error(errc::run_dir_unusable,
                      folder.string() + " holds " + std::to_string(runs_max) +
                          " runs of this name; delete some");
}

run_directory run_directory::create_at(const fs::path& folder) {
  fs::path path = fs::absolute(folder).lexically_normal();
  if (!path.has_filename()) // "x/"
    path = path.parent_path();
  make_folders(path);
  std::error_code ignored;
  bool owned_before = fs::exists(path / lock_name, ignored);
  if (!owned_before && !unused(path))
    throw ballast_error(errc::run_dir_unusable,
                        "run directory " + path.string() +
                            " is not empty; choose an absent or empty one");
  run_directory made(path, take_lock(path, !owned_before, choose_another));
  if (!unused(path))
    throw ballast_error(errc::run_dir_unusable,
                        "run directory " + path.string() +
                            " holds an earlier run; choose an absent or empty "
                            "one");
  make_subfolders(path);
  return made;
}

run_directory run_directory::adopt(const fs::path& folder) {
  run_directory found = open(folder);
  found.lock_ = take_lock(found.path_, true,
                          "it goes on with the run already: wait for its end, "
                          "or stop it",
                          where_it_is);
  make_subfolders(found.path_, where_it_is);
  return found;
}

run_directory run_directory::open(const fs::path& folder) {
  fs::path path = fs::absolute(folder).lexically_normal();
  if (!path.has_filename())
    path = path.parent_path();
  std::error_code ignored;
  if (!fs::is_directory(path, ignored))
    throw ballast_error(errc::run_dir_unusable,
                        "there is no run directory " + path.string());
  return run_directory(path, file_lock());
}

void run_directory::write_file(const std::string& name,
                               std::string_view content,
                               outlives durability) const {
  write_file(
      name,
      [rest = content]() mutable {
        return std::string(std::exchange(rest, {}));
      },
      durability);
}

void run_directory::write_file(const std::string& name,
                               const std::function<std::string()>& pieces,
                               outlives durability) const {
  uint64_t bytes = 0;
  try {
    atomic_file out(file(name),
                    {.durability = durability,
                     .permissions = 0644,
                     .exact = true,
                     .unfinished_in = tmp(),
                     .fault = [&name](const char* action) {
                       return fault_at(action == std::string_view("write")
                                           ? "file.write"
                                           : "file.rename",
                                       name);
                     }});
    for (std::string piece = pieces(); !piece.empty(); piece = pieces()) {
      bytes += piece.size();
      out.append(piece);
    }
    out.publish();
  } catch (const file_failure& problem) {
    const bool writing = problem.action() == "write";
    refuse_file(file(name),
                writing ? "write the " + std::to_string(bytes) + " bytes of"
                        : problem.action(),
                problem.number(), other_place);
  }
}

void run_directory::write_json(const std::string& name,
                               const nlohmann::json& content,
                               outlives durability) const {
  write_file(name, json_lines_text(content) + "\n", durability);
}

void run_directory::write_json(const std::string& name,
                               const nlohmann::ordered_json& content,
                               outlives durability) const {
  write_file(name, json_lines_text(content) + "\n", durability);
}

} // namespace ballast::store
