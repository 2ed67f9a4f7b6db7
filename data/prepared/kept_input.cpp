#include "data/prepared/kept_input.hpp"

#include "data/base/content_hash.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "runtime/base/errors.hpp"
#include "store/atomic_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <tuple>
#include <unistd.h>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

constexpr size_t block_bytes = 1 << 20;
constexpr uint32_t only_this_user = 0600;

fs::path folder_of_inputs(const fs::path& cache) {
  return cache / "input";
}

size_t read_some(int descriptor, std::string& into) {
  ssize_t got = 0;
  do
    got = ::read(descriptor, into.data(), into.size());
  while (got < 0 && errno == EINTR);
  if (got < 0)
    throw ballast_error(errc::invalid_data,
                        std::string("standard input cannot be read: ") +
                            std::strerror(errno));
  return size_t(got);
}

void make_room(const fs::path& cache, const fs::path& but,
               uint64_t limit_bytes) {
  const std::vector<kept_input> all = kept_inputs(cache);
  uint64_t sum = 0;
  for (const kept_input& one : all)
    sum += one.bytes;
  for (const kept_input& one : all) {
    if (sum <= limit_bytes)
      return;
    std::error_code ignored;
    if (one.file != but && fs::remove(one.file, ignored))
      sum -= one.bytes;
  }
}

} // namespace

kept_input keep_input(int descriptor, const fs::path& cache,
                      const std::string& ending, uint64_t limit_bytes) {
  if (::isatty(descriptor) != 0)
    throw ballast_error(errc::invalid_data,
                        "standard input is a terminal; expected rows, as in "
                        "`zcat rows.csv.gz | ballast run JOB.json`");
  const prepare_cache made(cache); // of this user alone
  const fs::path folder = folder_of_inputs(cache);
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    refuse_write(folder, error.value());
  const fs::path reading =
      folder / ("reading-" + std::to_string(::getpid()) + ending);
  kept_input out;
  content_hash hash;
  try {
    store::atomic_file::options how;
    how.permissions = only_this_user;
    store::atomic_file file(reading, how);
    std::string block(block_bytes, '\0');
    while (const size_t got = read_some(descriptor, block)) {
      hash.update(block.data(), got);
      file.append(block.data(), got);
      out.bytes += got;
    }
    if (out.bytes == 0)
      throw ballast_error(errc::invalid_data,
                          "standard input is empty; expected rows");
    file.publish();
  } catch (const store::file_failure& problem) {
    refuse_write(folder, problem.number());
  }
  out.file = folder / (hex16(hash.digest()) + ending);
  fs::rename(reading, out.file, error);
  if (error)
    refuse_write(out.file, error.value());
  make_room(cache, out.file, limit_bytes);
  return out;
}

std::vector<kept_input> kept_inputs(const fs::path& cache) {
  std::vector<kept_input> out;
  std::error_code ignored;
  for (const fs::directory_entry& one :
       fs::directory_iterator(folder_of_inputs(cache), ignored)) {
    struct stat about {};
    if (::stat(one.path().c_str(), &about) == 0 && S_ISREG(about.st_mode))
      out.push_back({one.path(), uint64_t(about.st_size),
                     int64_t(about.st_mtim.tv_sec) * 1'000'000'000 +
                         about.st_mtim.tv_nsec});
  }
  std::sort(
      out.begin(), out.end(), [](const kept_input& a, const kept_input& b) {
        return std::tie(a.since_ns, a.file) < std::tie(b.since_ns, b.file);
      });
  return out;
}

std::vector<kept_input> forget_inputs(const fs::path& cache) {
  std::vector<kept_input> out = kept_inputs(cache);
  std::error_code ignored;
  fs::remove_all(folder_of_inputs(cache), ignored);
  return out;
}

} // namespace ballast::data
