/// Where the sources lie, for tests that compare a generated page with the
/// committed one. Found from the working folder upwards, not from __FILE__,
/// which is relative where checkouts share compiled objects.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace ballast {

inline std::filesystem::path source_root() {
  if (const char* given = std::getenv("BALLAST_SOURCE_DIR"))
    return given;
  auto folder = std::filesystem::current_path();
  while (!std::filesystem::exists(folder / "versions.env")) {
    if (folder == folder.parent_path())
      throw std::runtime_error("run this inside the checkout, or set "
                               "BALLAST_SOURCE_DIR");
    folder = folder.parent_path();
  }
  return folder;
}

} // namespace ballast
