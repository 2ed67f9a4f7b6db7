#include "store/run_directory.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace ballast {

namespace {

namespace fs = std::filesystem;

constexpr const char* lock_name = "run.lock";
constexpr const char* subfolders[] = {"logs", "trace", "checkpoints", "tmp"};
constexpr int runs_max = 1'000'000;
constexpr const char* choose_another = "choose another one with --run-dir";

[[noreturn]] void fail(const fs::path& path, const char* action,
                       int error_number) {
  std::string what = std::string("cannot ") + action + " " + path.string() +
                     ": " + std::generic_category().message(error_number);
  if (error_number == ENAMETOOLONG)
    what += " (a name may have 255 bytes, a path 4095)";
  if (means_disk_full(error_number))
    throw ballast_error(errc::disk_full, what + "; make space");
  if (error_number == EMFILE || error_number == ENFILE)
    throw ballast_error(errc::run_dir_unusable,
                        what + "; raise the limit with `ulimit -n`");
  throw ballast_error(errc::run_dir_unusable,
                      what + "; choose another place with --run-dir");
}

void make_folders(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    fail(path, "make the folder", error.value());
}

std::string first_word(const fs::path& file) {
  std::ifstream in(file);
  std::string word;
  in >> word;
  return word;
}

/// The process that holds a flock on an open file, by the kernel's list; if
/// that does not show it, by the content of the file.
std::string holder_of(int descriptor, const fs::path& file) {
  struct stat about {};
  std::string wanted;
  if (fstat(descriptor, &about) == 0)
    wanted = ":" + std::to_string(about.st_ino) + " ";
  std::ifstream locks("/proc/locks");
  for (std::string line; !wanted.empty() && std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, mode, access, pid;
    if (line.find(wanted) != std::string::npos &&
        words >> number >> kind >> mode >> access >> pid && kind == "FLOCK" &&
        std::atol(pid.c_str()) > 0)
      return "process " + pid;
  }
  std::string pid = first_word(file);
  return pid.empty() ? "another process" : "process " + pid;
}

/// Locks `folder`/run.lock for this process; the kernel releases the lock with
/// the process.
unique_fd take_lock(const fs::path& folder, bool make, const char* what_to_do) {
  fs::path file = folder / lock_name;
  int flags = O_RDWR | O_CLOEXEC | (make ? O_CREAT : 0);
  unique_fd lock(::open(file.c_str(), flags, 0644));
  if (!lock)
    fail(file, "open", errno);
  if (flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK)
      fail(file, "lock", errno);
    throw ballast_error(errc::run_dir_in_use,
                        "run directory " + folder.string() + " is in use by " +
                            holder_of(lock.get(), file) + "; " + what_to_do);
  }
  // The file is never empty in between: others read the holder's pid from it.
  std::string pid = std::to_string(getpid()) + "\n";
  if (pwrite(lock.get(), pid.data(), pid.size(), 0) != ssize_t(pid.size()) ||
      ftruncate(lock.get(), off_t(pid.size())) != 0)
    fail(file, "write", errno);
  return lock;
}

/// True if it contains nothing but a lock file.
bool unused(const fs::path& folder) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error)
    fail(folder, "read the folder", error.value());
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

void make_subfolders(const fs::path& path) {
  for (const char* name : subfolders)
    make_folders(path / name);
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
      fail(path, "make the folder", errno);
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
                          "or stop it");
  make_subfolders(found.path_);
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
  return run_directory(path, unique_fd());
}

void run_directory::write_file(const std::string& name,
                               std::string_view content,
                               outlives durability) const {
  // The name contains the pid, because supervisor and coordinator write into
  // one directory; mkstemp's suffix separates threads.
  std::string pattern =
      (tmp() / (name + "." + std::to_string(getpid()) + ".XXXXXX")).string();
  unique_fd descriptor(::mkostemp(pattern.data(), O_CLOEXEC));
  if (!descriptor)
    fail(pattern, "make", errno);
  auto give_up = [&](const char* action) {
    int error_number = errno;
    ::unlink(pattern.c_str());
    fail(file(name), action, error_number);
  };
  for (size_t written = 0; written < content.size();) {
    int fault = fault_at("file.write", name);
    ssize_t count = fault ? -1
                          : ::write(descriptor.get(), content.data() + written,
                                    content.size() - written);
    if (fault)
      errno = fault;
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      give_up(("write the " + std::to_string(content.size()) + " bytes of")
                  .c_str());
    written += size_t(count);
  }
  if (fchmod(descriptor.get(), 0644) != 0)
    give_up("write");
  if (durability == outlives::power && fdatasync(descriptor.get()) != 0)
    give_up("sync");
  int fault = fault_at("file.rename", name);
  if (fault)
    errno = fault;
  if (fault || ::rename(pattern.c_str(), file(name).c_str()) != 0)
    give_up("replace");
  if (durability == outlives::power) {
    unique_fd folder(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder)
      fsync(folder.get());
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

} // namespace ballast
