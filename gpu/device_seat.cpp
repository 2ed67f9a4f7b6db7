#include "gpu/device_seat.hpp"

#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ballast {
namespace {

/// Empty if the seat is taken, or the file cannot be opened.
unique_fd lock(const std::filesystem::path& file) {
  // Follow no symbolic link in a folder that every user can write to.
  unique_fd out(
      ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (out && ::flock(out.get(), LOCK_EX | LOCK_NB) != 0)
    out.reset();
  return out;
}

bool is_ours(const std::filesystem::path& folder) {
  struct stat about {};
  return ::lstat(folder.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
         about.st_uid == ::geteuid();
}

} // namespace

std::filesystem::path device_seat::default_folder() {
  std::error_code none;
  std::filesystem::path base = std::filesystem::temp_directory_path(none);
  return (none ? std::filesystem::path("/tmp") : base) /
         ("ballast-gpus-" + std::to_string(::geteuid()));
}

std::optional<device_seat>
device_seat::take(const std::filesystem::path& folder,
                  const std::vector<int>& gpus) {
  ::mkdir(folder.c_str(), 0700);
  if (!is_ours(folder))
    return std::nullopt;
  for (int round = 0; round < rounds_max; ++round)
    for (int gpu : gpus) {
      unique_fd got = lock(
          folder / (std::to_string(gpu) + ".seat-" + std::to_string(round)));
      if (got)
        return device_seat(gpu, std::move(got));
    }
  return std::nullopt;
}

} // namespace ballast
