#include "store/copied_file.hpp"

#include <cerrno>
#include <system_error>

namespace ballast::store {

namespace fs = std::filesystem;

int copy_whole(const fs::path& from, const fs::path& to) {
  std::error_code problem;
  if (fs::copy_file(from, to, problem))
    return 0;
  int out = problem ? problem.value() : EEXIST;
  std::error_code none;
  // The library tells of a disk that is full as of one that is broken.
  const fs::space_info room = fs::space(to.parent_path(), none);
  if (out == EIO && !none && room.available < fs::file_size(from, none))
    out = ENOSPC;
  if (out != EEXIST)
    fs::remove(to, none);
  return out;
}

} // namespace ballast::store
