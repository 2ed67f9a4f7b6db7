#include "data/prepare_cache.hpp"

#include "data/chunk_writer.hpp"
#include "data/content_hash.hpp"
#include "data/source_file.hpp"
#include "runtime/errors.hpp"
#include "runtime/unique_fd.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace ballast {

namespace fs = std::filesystem;

namespace {

constexpr double limit_default_gb = 20;
/// A file changed this shortly before it was hashed may change again without
/// another time stamp.
constexpr int64_t settled_ns = 1'000'000'000;

[[noreturn]] void refuse_write(const fs::path& path, int number) {
  const bool full = number == ENOSPC || number == EDQUOT || number == EFBIG;
  throw ballast_error(full ? errc::disk_full : errc::run_dir_unusable,
                      "cannot write " + path.string() + ": " +
                          std::strerror(number) +
                          (full ? "; make room or point $BALLAST_CACHE "
                                  "elsewhere"
                                : "; make the cache folder writable or point "
                                  "$BALLAST_CACHE elsewhere"));
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    refuse_write(path, error.value());
}

std::string hash_bytes_of(const std::string& path, const std::string& pointer) {
  content_hash hash;
  unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<char> block(size_t{1} << 20);
  ssize_t got = file ? 0 : -1;
  while (file && (got = ::read(file.get(), block.data(), block.size())) > 0)
    hash.update(block.data(), size_t(got));
  const int number = errno;
  if (got < 0)
    throw ballast_error(errc::invalid_data,
                        path + ": cannot be read: " + std::strerror(number),
                        pointer);
  return hex16(hash.digest());
}

bool is_key(const std::string& name) {
  return name.size() == 16 &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

struct cached_set {
  std::string key;
  uint64_t bytes = 0;
  int64_t used_ns = 0;
};

int64_t modified_ns(const fs::path& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0)
    return 0;
  return int64_t(about.st_mtim.tv_sec) * 1'000'000'000 + about.st_mtim.tv_nsec;
}

cached_set look_at(const fs::path& folder, const std::string& key) {
  cached_set out{key, 0, modified_ns(folder / "manifest.json")};
  std::error_code ignored;
  for (const fs::directory_entry& file :
       fs::directory_iterator(folder, ignored))
    out.bytes += uint64_t(file.file_size(ignored));
  return out;
}

} // namespace

void write_small_file(const fs::path& path, const std::string& content) {
  static std::atomic<uint64_t> files_written{0};
  const fs::path part = path.string() + "." + std::to_string(::getpid()) + "-" +
                        std::to_string(++files_written) + ".tmp";
  unique_fd file(
      ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file)
    refuse_write(part, errno);
  size_t done = 0;
  ssize_t got = 0;
  while (done < content.size() &&
         (got = ::write(file.get(), content.data() + done,
                        content.size() - done)) > 0)
    done += size_t(got);
  const bool whole = done == content.size() && ::fsync(file.get()) == 0;
  const int number = errno;
  file.reset();
  if (!whole || ::rename(part.c_str(), path.c_str()) != 0) {
    const int reason = whole ? errno : number;
    ::unlink(part.c_str());
    refuse_write(path, reason);
  }
}

prepare_cache::prepare_cache(fs::path folder) : folder_(std::move(folder)) {
  make_folder(folder_ / "locks");
  make_folder(folder_ / "sources");
}

fs::path prepare_cache::folder_of(const std::string& key) const {
  return folder_ / key;
}

fs::path prepare_cache::making_of(const std::string& key) const {
  return folder_ / (key + ".tmp");
}

file_lock prepare_cache::lock_of(const std::string& key) const {
  return file_lock(folder_ / "locks" / key);
}

std::string prepare_cache::hash_of(const std::string& path,
                                   const std::string& pointer) {
  using nlohmann::json;
  const file_stamp stamp = stamp_of(path, pointer);
  std::error_code error;
  const std::string full = fs::absolute(path, error).string();
  content_hash name;
  name.update(full);
  const fs::path memo = folder_ / "sources" / hex16(name.digest());
  const json about{{"path", full},
                   {"size", stamp.size},
                   {"mtime_ns", stamp.mtime_ns},
                   {"inode", stamp.inode}};
  std::ifstream known(memo);
  const json read = json::parse(known, nullptr, /*allow_exceptions=*/false);
  // Clock-free: the memo's own time says when the file was hashed.
  if (read.is_object() && read.value("about", json()) == about &&
      read.value("hash", json()).is_string() &&
      modified_ns(memo) - stamp.mtime_ns > settled_ns)
    return read["hash"].get<std::string>();
  std::string out = hash_bytes_of(path, pointer);
  if (stamp_of(path, pointer) != stamp)
    throw ballast_error(errc::invalid_data,
                        path + ": changed while it was read; try again when "
                               "it is complete",
                        pointer);
  write_small_file(memo, json{{"about", about}, {"hash", out}}.dump());
  return out;
}

void prepare_cache::touch(const std::string& key) const {
  // Fails on a read-only cache, where nothing is evicted either.
  ::utimensat(AT_FDCWD, (folder_of(key) / "manifest.json").c_str(), nullptr, 0);
}

void prepare_cache::evict(uint64_t limit_bytes) const {
  std::vector<cached_set> sets;
  uint64_t sum = 0;
  std::error_code ignored;
  for (const fs::directory_entry& entry :
       fs::directory_iterator(folder_, ignored)) {
    const std::string name = entry.path().filename().string();
    if (is_key(name)) {
      sets.push_back(look_at(entry.path(), name));
      sum += sets.back().bytes;
    } else if (name.ends_with(".tmp") && is_key(name.substr(0, 16))) {
      file_lock lock = lock_of(name.substr(0, 16));
      if (lock.take(file_lock::mode::exclusive, {}))
        fs::remove_all(entry.path(), ignored);
    }
  }
  std::sort(sets.begin(), sets.end(),
            [](const cached_set& a, const cached_set& b) {
              return a.used_ns < b.used_ns;
            });
  for (const cached_set& set : sets) {
    if (sum <= limit_bytes)
      return;
    file_lock lock = lock_of(set.key);
    if (!lock.take(file_lock::mode::exclusive, {}))
      continue; // in use
    // Renamed first: a set is whole or absent, also while it is removed.
    fs::remove_all(making_of(set.key), ignored);
    fs::rename(folder_of(set.key), making_of(set.key), ignored);
    fs::remove_all(making_of(set.key), ignored);
    sum -= set.bytes;
  }
}

uint64_t cache_limit_bytes() {
  const char* text = std::getenv("BALLAST_CACHE_LIMIT_GB");
  if (text == nullptr || *text == 0)
    return uint64_t(limit_default_gb * 1e9);
  char* end = nullptr;
  const double gigabytes = std::strtod(text, &end);
  if (*end != 0 || !(gigabytes >= 0 && gigabytes < 1e9))
    throw ballast_error(errc::usage,
                        std::string("BALLAST_CACHE_LIMIT_GB is '") + text +
                            "'; expected a number of gigabytes >= 0");
  return uint64_t(gigabytes * 1e9);
}

} // namespace ballast
