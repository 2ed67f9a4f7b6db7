#include "store/term_lock.hpp"

#include "runtime/base/errors.hpp"
#include "store/line_file.hpp"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/file.h>
#include <system_error>
#include <unistd.h>

namespace ballast {

unique_fd take_term_lock(const std::filesystem::path& file) {
  unique_fd lock(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock)
    throw ballast_error(means_disk_full(errno) ? errc::disk_full
                                               : errc::run_dir_unusable,
                        "cannot open " + file.string() + ": " +
                            std::generic_category().message(errno));
  if (flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
    std::string pid = std::to_string(getpid()) + "\n";
    // Only for the message below; a full disk does not matter here.
    if (ftruncate(lock.get(), 0) != 0 ||
        pwrite(lock.get(), pid.data(), pid.size(), 0) < 0)
      errno = 0;
    return lock;
  }
  std::string holder;
  std::ifstream(file) >> holder;
  throw ballast_error(errc::run_dir_in_use,
                      "another coordinator, process " + holder +
                          ", writes the journal in " +
                          file.parent_path().string() + "; stop it first");
}

} // namespace ballast
