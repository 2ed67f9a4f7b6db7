#include "gpu/device_seat.hpp"

#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ballast::gpu {
namespace {

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
      // No link in a folder that all can write may lead elsewhere.
      store::file_lock got(
          folder / (std::to_string(gpu) + ".seat-" + std::to_string(round)),
          {.follow_links = false, .permissions = 0600});
      if (got && got.take(store::file_lock::mode::exclusive))
        return device_seat(gpu, std::move(got));
    }
  return std::nullopt;
}

} // namespace ballast::gpu
