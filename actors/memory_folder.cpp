#include "actors/memory_folder.hpp"

#include "data/base/content_hash.hpp"
#include "data/store/host_memory.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/no_progress.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <utility>

namespace ballast::actors {

namespace {

namespace fs = std::filesystem;

/// One that is kept, and the next one.
constexpr uint64_t states_at_once = 2;
/// A process that was killed may hold the lock for a moment.
constexpr std::chrono::seconds lock_patience{2};
constexpr const char* lock_name = "lock";

fs::path real_path(const fs::path& run_directory) {
  std::error_code ignored;
  fs::path out = fs::weakly_canonical(run_directory, ignored);
  return out.empty() ? run_directory : out;
}

std::string name_of(const fs::path& run) {
  data::content_hash hash;
  hash.update(run.string() + "\n" + std::to_string(::geteuid()));
  return "ballast-" + data::hex16(hash.digest());
}

[[noreturn]] void refuse(const fs::path& path, const std::string& why) {
  throw ballast_error(errc::run_dir_unusable,
                      path.string() + " cannot hold checkpoints: " + why);
}

uint64_t bytes_in(const fs::path& folder) {
  uint64_t out = 0;
  std::error_code problem;
  for (fs::recursive_directory_iterator it(folder, problem), end;
       !problem && it != end; it.increment(problem)) {
    std::error_code none;
    const uint64_t bytes = it->is_regular_file(none) ? it->file_size(none) : 0;
    out += none ? 0 : bytes;
  }
  return out;
}

} // namespace

memory_folder::memory_folder(const fs::path& run_directory, fs::path memory)
    : run_(real_path(run_directory)), memory_(std::move(memory)),
      path_(memory_ / name_of(run_)) {}

bool memory_folder::is_mine() const {
  struct stat about {};
  return ::lstat(path_.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
         about.st_uid == ::geteuid();
}

bool memory_folder::take() {
  struct stat about {};
  if (::lstat(path_.c_str(), &about) != 0) {
    ours_ = false;
    if (errno == ENOENT)
      return false;
    refuse(path_, std::strerror(errno));
  }
  if (!S_ISDIR(about.st_mode))
    refuse(path_, "it is no folder; remove it");
  if (about.st_uid != ::geteuid())
    refuse(path_, "it belongs to user " + std::to_string(about.st_uid) +
                      "; if it is yours, `chown " +
                      std::to_string(::geteuid()) + " " + path_.string() +
                      "`, else have it removed");
  if ((about.st_mode & 077) != 0)
    refuse(path_, "others than its owner may use it; `chmod 700 " +
                      path_.string() + "`");
  if (ours_)
    return true;
  store::file_lock lock(path_ / lock_name,
                        {.follow_links = false, .permissions = 0600});
  if (!lock)
    refuse(path_, std::strerror(lock.error()));
  if (!lock.take(store::file_lock::mode::exclusive, lock_patience))
    refuse(path_, lock.holder() + " uses it");
  lock_ = std::move(lock);
  return ours_ = true;
}

void memory_folder::check_room(uint64_t state_bytes) const {
  struct statvfs about {};
  if (::statvfs(memory_.c_str(), &about) != 0)
    refuse(memory_, std::strerror(errno));
  const uint64_t there = bytes_in(path_);
  const uint64_t free = uint64_t(about.f_bavail) * about.f_frsize + there;
  const uint64_t available = data::available_memory_bytes() + there;
  const uint64_t need = states_at_once * state_bytes;
  if (need <= free && need <= available)
    return;
  throw ballast_error(
      errc::invalid_job,
      "checkpoints in memory do not fit on the coordinator's host: one that is "
      "kept and the next one, of " +
          byte_text(state_bytes) + " each, need " + byte_text(need) + "; " +
          memory_.string() + " has " + byte_text(free) + " free, and " +
          byte_text(available) +
          " of memory are available. Make room (for a container: "
          "--shm-size), or set checkpoint.memory_every_s to 0",
      "/checkpoint/memory_every_s");
}

void memory_folder::open(uint64_t state_bytes) {
  const bool was_there = take();
  check_room(state_bytes);
  if (!was_there)
    make();
}

void memory_folder::make_again() {
  if (!take())
    make();
}

void memory_folder::make() {
  if (::mkdir(path_.c_str(), 0700) != 0)
    refuse(path_, std::strerror(errno));
  (void)take();
  std::ofstream(path_ / "run") << run_.string() << "\n";
}

void memory_folder::remove() {
  if (!std::exchange(ours_, false))
    return;
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  lock_ = {};
}

} // namespace ballast::actors
