#include "data/graph/temporary_folder.hpp"

#include "store/refuse_file.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

constexpr const char* name_begin = "ballast-rows-";
constexpr size_t random_letters = 6;

fs::path folder_of_all() {
  const char* told = std::getenv("TMPDIR");
  return told != nullptr && *told != '\0' ? told : "/tmp";
}

[[noreturn]] void refuse(const fs::path& under, int number) {
  store::refuse_file(under,
                     "make a folder for rows that do not fit into memory in",
                     number, "point $TMPDIR to a folder where you may write");
}

/// Locked, and still under this name; nothing: somebody else holds it, or has
/// removed it.
unique_fd locked(const fs::path& folder) {
  unique_fd out(
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat held {};
  struct stat there {};
  if (!out || ::flock(out.get(), LOCK_EX | LOCK_NB) != 0 ||
      ::fstat(out.get(), &held) != 0 || ::lstat(folder.c_str(), &there) != 0 ||
      held.st_ino != there.st_ino || held.st_dev != there.st_dev ||
      held.st_uid != ::geteuid())
    return {};
  return out;
}

/// Of processes that were killed.
void remove_left_over(const fs::path& under) noexcept {
  std::error_code ignored;
  for (fs::directory_iterator at(under, ignored), end; !ignored && at != end;
       at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with(name_begin) &&
        name.size() == std::string(name_begin).size() + random_letters)
      if (const unique_fd lock = locked(at->path())) {
        std::error_code failed;
        fs::remove_all(at->path(), failed);
      }
  }
}

} // namespace

rows_folder rows_folder::make() {
  const fs::path under = folder_of_all();
  remove_left_over(under);
  // Between making and locking it, another process may take it for left over.
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::string name =
        (under / (name_begin + std::string(random_letters, 'X'))).string();
    if (::mkdtemp(name.data()) == nullptr)
      refuse(under, errno);
    if (unique_fd lock = locked(name))
      return {name, std::move(lock)};
  }
  refuse(under, EAGAIN);
}

rows_folder::rows_folder(rows_folder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)),
      made_(std::move(other.made_)) {}

rows_folder& rows_folder::operator=(rows_folder&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
    lock_ = std::move(other.lock_);
    made_ = std::move(other.made_);
  }
  return *this;
}

rows_folder::~rows_folder() {
  remove();
}

void rows_folder::remove() noexcept {
  std::error_code ignored;
  if (!path_.empty())
    fs::remove_all(path_, ignored);
}

} // namespace ballast::data
