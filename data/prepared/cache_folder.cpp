/// Finds the default folder of prepared sets.
#include "data/prepared/prepared_set.hpp"

#include <array>
#include <cstdlib>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

/// From the user's entry in the passwd database; empty if there is none.
std::string home_of_user() {
  std::array<char, 16384> room{};
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, room.data(), room.size(), &found) !=
          0 ||
      found == nullptr || found->pw_dir == nullptr)
    return {};
  return found->pw_dir;
}

/// Accounts without a home have "/".
bool is_home(const std::string& path) {
  struct stat about {};
  return path.starts_with('/') && path != "/" &&
         ::stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode);
}

} // namespace

fs::path default_cache_folder() {
  if (std::string folder = variable("BALLAST_CACHE"); !folder.empty())
    return folder;
  // The specification says to ignore a relative path.
  if (const std::string folder = variable("XDG_CACHE_HOME");
      folder.starts_with('/'))
    return fs::path(folder) / "ballast";
  if (const std::string home = variable("HOME"); !home.empty())
    return fs::path(home) / ".cache" / "ballast";
  if (const std::string home = home_of_user(); is_home(home))
    return fs::path(home) / ".cache" / "ballast";
  // A predictable name: prepare_cache refuses the folder if another user owns
  // it.
  return "/tmp/ballast-" + std::to_string(::geteuid());
}

} // namespace ballast::data
