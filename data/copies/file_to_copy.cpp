#include "data/copies/file_to_copy.hpp"

#include "runtime/base/errors.hpp"
#include "store/refuse_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ballast::data {

namespace fs = std::filesystem;

std::optional<file_to_copy> open_to_copy(std::string name,
                                         const fs::path& path) {
  file_to_copy out{std::move(name), path,
                   unique_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC)), 0};
  struct stat about {};
  if (!out.file && errno == ENOENT)
    return std::nullopt;
  if (!out.file || ::fstat(out.file.get(), &about) != 0)
    store::refuse_file(path, "open", errno);
  out.bytes = uint64_t(about.st_size);
  return out;
}

void only_whole_lines(file_to_copy& what) {
  std::string block(size_t{64} << 10, '\0');
  while (what.bytes > 0) {
    const uint64_t count = std::min<uint64_t>(block.size(), what.bytes);
    read_part(what, what.bytes - count, block.data(), count);
    const size_t end = std::string_view(block.data(), count).rfind('\n');
    if (end != std::string_view::npos) {
      what.bytes -= count - end - 1;
      return;
    }
    what.bytes -= count;
  }
}

void read_part(const file_to_copy& what, uint64_t at, char* to,
               uint64_t bytes) {
  for (uint64_t done = 0; done < bytes;) {
    const ssize_t got =
        ::pread(what.file.get(), to + done, bytes - done, off_t(at + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      store::refuse_file(what.path, "read", errno);
    if (got == 0)
      throw ballast_error(errc::stale_generation,
                          what.path.string() +
                              " became shorter while it was copied");
    done += uint64_t(got);
  }
}

} // namespace ballast::data
