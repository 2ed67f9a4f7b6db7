#include "data/prepared/prepare_cache.hpp"

#include "data/base/content_hash.hpp"
#include "data/base/ordered_work.hpp"
#include "data/prepared/chunk_writer.hpp"
#include "data/source/source_file.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/base/size_variables.hpp"
#include "runtime/base/unique_fd.hpp"
#include "store/atomic_file.hpp"
#include "store/refuse_file.hpp"
#include "store/work_watch.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

constexpr double limit_default_gb = 20;
/// A file modified this shortly before hashing may change again within the same
/// time stamp.
constexpr int64_t settled_ns = 1'000'000'000;

void make_folder(const fs::path& path) {
  std::error_code error;
  if (path.has_parent_path())
    fs::create_directories(path.parent_path(), error);
  // Prepared data are as private as their source files.
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    refuse_write(path, errno);
}

/// A user who can write here can replace the data that a run trains on.
void check_owner(const fs::path& path) {
  struct stat link {};
  struct stat about {};
  if (::lstat(path.c_str(), &link) != 0 || ::stat(path.c_str(), &about) != 0)
    refuse_write(path, errno);
  std::string why;
  if (!S_ISDIR(about.st_mode))
    why = "is no folder";
  else if (about.st_uid != ::geteuid() || link.st_uid != ::geteuid())
    why = "belongs to user " +
          std::to_string(about.st_uid != ::geteuid() ? about.st_uid
                                                     : link.st_uid) +
          ", this process runs as user " + std::to_string(::geteuid());
  else if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    why = "can be written by other users; run `chmod go-w " + path.string() +
          "` if nobody else has";
  if (!why.empty())
    throw ballast_error(errc::run_dir_unusable,
                        "the cache folder " + path.string() + " " + why +
                            "; or point $BALLAST_CACHE to a folder of yours");
}

/// `expected`: its size, as far as is known.
uint64_t hash_bytes_of(const std::string& path, uint64_t expected,
                       const std::string& pointer,
                       const store::work_watch& stop) {
  content_hash hash;
  unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  // Many files are small: a large block for each costs more than the rest.
  constexpr uint64_t least = 4096;
  constexpr uint64_t most = 1 << 20;
  const size_t size = std::clamp(expected + 1, least, most);
  const auto block = std::make_unique_for_overwrite<char[]>(size);
  ssize_t got = file ? 0 : -1;
  while (file && (got = ::read(file.get(), block.get(), size)) > 0) {
    check_stop(stop);
    hash.update(block.get(), size_t(got));
  }
  const int number = errno;
  if (got < 0)
    throw ballast_error(errc::invalid_data,
                        path + ": cannot be read: " + std::strerror(number),
                        pointer);
  return hash.digest();
}

constexpr size_t sets_of_rows_max = 16;
constexpr size_t hashes_max = size_t{1} << 21; // some 80 MB

} // namespace

int64_t modified_ns(const fs::path& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0)
    return 0;
  return int64_t(about.st_mtim.tv_sec) * 1'000'000'000 + about.st_mtim.tv_nsec;
}

[[noreturn]] void refuse_write(const fs::path& path, int number) {
  const bool full = store::means_disk_full(number);
  throw ballast_error(full ? errc::disk_full : errc::run_dir_unusable,
                      "cannot write " + path.string() + ": " +
                          std::strerror(number) +
                          (full ? "; make room or point $BALLAST_CACHE "
                                  "elsewhere"
                                : "; make the cache folder writable or point "
                                  "$BALLAST_CACHE elsewhere"));
}

void write_small_file(const fs::path& path, const std::string& content) {
  try {
    store::atomic_file out(path, {.fault = [](const char* action) {
                             return action == std::string_view("write")
                                        ? fault_point("cache.write")
                                        : 0;
                           }});
    out.append(content);
    out.publish();
  } catch (const store::file_failure& problem) {
    refuse_write(path, problem.number());
  }
}

/// The lock, not taken yet.
static store::file_lock lock_at(const fs::path& path) {
  store::file_lock out(path, {.permissions = 0666});
  if (!out)
    refuse_write(path, out.error());
  return out;
}

bool take(store::file_lock& lock, store::file_lock::mode as,
          std::chrono::milliseconds wait, const store::work_watch& stop) {
  const bool taken = lock.take(as, wait, stop);
  if (lock.error() != 0)
    throw ballast_error(errc::run_dir_unusable,
                        std::string("the cache folder cannot be locked: ") +
                            std::strerror(lock.error()) +
                            "; point $BALLAST_CACHE to a local disk");
  return taken;
}

prepare_cache::prepare_cache(fs::path folder) : folder_(std::move(folder)) {
  make_folder(folder_);
  check_owner(folder_);
  make_folder(folder_ / "locks");
  make_folder(folder_ / "sources");
}

bool prepare_cache::is_key(const std::string& name) {
  return name.size() == key_length &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string prepare_cache::key_of(const nlohmann::json& identity) {
  content_hash hash;
  hash.update(json_text(identity));
  return hex16(hash.digest());
}

fs::path prepare_cache::folder_of(const std::string& key) const {
  return folder_ / key;
}

fs::path prepare_cache::making_of(const std::string& key) const {
  return folder_ / (key + ".tmp");
}

fs::path prepare_cache::lock_path_of(const std::string& key) const {
  return folder_ / "locks" / key;
}

store::file_lock prepare_cache::lock_of(const std::string& key) const {
  return lock_at(lock_path_of(key));
}

fs::path prepare_cache::memo_of(const std::string& full_path) const {
  content_hash name;
  name.update(full_path);
  return folder_ / "sources" / hex16(name.digest());
}

/// What was noted of just these files, the last of which changed at
/// `changed_ns`. Empty: nothing.
static std::string noted_hash(const fs::path& memo, const nlohmann::json& about,
                              int64_t changed_ns) {
  using nlohmann::json;
  std::ifstream known(memo);
  const json read = json::parse(known, nullptr, /*allow_exceptions=*/false);
  // Independent of clocks: the memo's own time stamp says when the file was
  // hashed.
  if (read.is_object() && read.value("about", json()) == about &&
      read.value("hash", json()).is_string() &&
      modified_ns(memo) - changed_ns > settled_ns)
    return read["hash"].get<std::string>();
  return {};
}

/// Of a file that is still what it was.
static uint64_t hash_of_unchanged(const std::string& path,
                                  const file_stamp& stamp,
                                  const std::string& pointer,
                                  const store::work_watch& stop) {
  const uint64_t out = hash_bytes_of(path, stamp.size, pointer, stop);
  if (stamp_of(path, pointer) != stamp)
    throw ballast_error(errc::invalid_data,
                        path + ": changed while it was read; try again when "
                               "it is complete",
                        pointer);
  return out;
}

std::string prepare_cache::hash_of(const std::string& path,
                                   const std::string& pointer,
                                   const store::work_watch& stop) {
  using nlohmann::json;
  const file_stamp stamp = stamp_of(path, pointer);
  std::error_code error;
  const std::string full = fs::absolute(path, error).string();
  const fs::path memo = memo_of(full);
  const json about{{"path", printable(full)},
                   {"size", stamp.size},
                   {"mtime_ns", stamp.mtime_ns},
                   {"inode", stamp.inode}};
  if (std::string known = noted_hash(memo, about, stamp.mtime_ns);
      !known.empty())
    return known;
  std::string out = hex16(hash_of_unchanged(path, stamp, pointer, stop));
  write_small_file(memo, json_text(json{{"about", about}, {"hash", out}}));
  return out;
}

static uint64_t stamp_hash(const image_folder& folder, const image_file& one) {
  content_hash out;
  out.update(folder.path + '\0' + one.name);
  for (uint64_t part :
       {one.stamp.size, uint64_t(one.stamp.mtime_ns), one.stamp.inode})
    out.update(&part, sizeof(part));
  return out.digest();
}

std::optional<uint64_t> prepare_cache::known_hash(const image_folder& folder,
                                                  const image_file& one) const {
  const auto found = hashes_.find(stamp_hash(folder, one));
  return found == hashes_.end() ? std::nullopt : std::optional(found->second);
}

std::string prepare_cache::hash_of(const image_folder& folder,
                                   const std::string& pointer,
                                   const store::work_watch& stop) {
  using nlohmann::json;
  content_hash stamps;
  stamps.update(folder.part);
  int64_t changed_ns = 0;
  for (const image_file& one : folder.files) {
    stamps.update(one.name);
    for (uint64_t part : {uint64_t{0}, one.stamp.size,
                          uint64_t(one.stamp.mtime_ns), one.stamp.inode})
      stamps.update(&part, sizeof(part));
    changed_ns = std::max(changed_ns, one.stamp.mtime_ns);
  }
  std::error_code error;
  const std::string full = fs::absolute(folder.path, error).string();
  const fs::path memo =
      memo_of(full + (folder.part.empty() ? "" : "#" + folder.part));
  const json about{{"path", printable(full)},
                   {"files", folder.files.size()},
                   {"stamps", hex16(stamps.digest())}};
  if (std::string known = noted_hash(memo, about, changed_ns); !known.empty())
    return known;
  content_hash all;
  std::vector<std::pair<uint64_t, uint64_t>> hashes;
  ordered_work<uint64_t> readers(work_threads(), "bl-hash");
  for (size_t next = 0, done = 0; done < folder.files.size(); ++done) {
    check_stop(stop);
    for (; next < folder.files.size() && readers.under_way() < readers.wanted();
         ++next)
      readers.give([&one = folder.files[next], &folder, &pointer, &stop,
                    known = known_hash(folder, folder.files[next])] {
        if (one.is_gone || known)
          return known.value_or(0);
        return hash_of_unchanged(folder.path + "/" + one.name, one.stamp,
                                 pointer, stop);
      });
    const image_file& one = folder.files[done];
    const uint64_t hash = readers.take();
    all.update(one.name + '\0' +
               (one.is_gone ? "a link that leads nowhere" : hex16(hash)));
    if (!one.is_gone && hashes_.size() + hashes.size() < hashes_max)
      hashes.emplace_back(stamp_hash(folder, one), hash);
  }
  std::string out = hex16(all.digest());
  write_small_file(memo, json_text(json{{"about", about}, {"hash", out}}));
  if (modified_ns(memo) - changed_ns > settled_ns)
    hashes_.insert(hashes.begin(), hashes.end());
  return out;
}

std::vector<std::string>
prepare_cache::sets_of_rows(const std::string& rows_key) const {
  std::vector<std::string> out;
  std::ifstream in(folder_ / "rows" / rows_key);
  for (std::string key; out.size() < sets_of_rows_max && std::getline(in, key);)
    if (is_key(key))
      out.push_back(key);
  return out;
}

void prepare_cache::note_rows(const std::string& rows_key,
                              const std::string& key) const {
  std::string text = key + "\n";
  for (const std::string& one : sets_of_rows(rows_key))
    if (one != key && fs::exists(folder_of(one)))
      text += one + "\n";
  ::mkdir((folder_ / "rows").c_str(), 0700);
  try {
    store::atomic_file out(folder_ / "rows" / rows_key);
    out.append(text);
    out.publish();
  } catch (const store::file_failure&) {
    // The set is complete. Another one of its rows will be made of the sources.
  }
}

void prepare_cache::touch(const std::string& key) const {
  // Fails on a read-only cache, from which nothing is evicted either.
  ::utimensat(AT_FDCWD, (folder_of(key) / "manifest.json").c_str(), nullptr, 0);
}

uint64_t cache_limit_bytes() {
  const size_setting told = read_cache_limit(std::getenv(cache_limit_variable));
  if (told.mistake)
    throw ballast_error(told.mistake);
  return told.bytes.value_or(uint64_t(limit_default_gb * 1e9));
}

} // namespace ballast::data
