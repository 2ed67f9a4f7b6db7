/// What is in the cache folder, and when it goes.
#include "data/prepared/prepare_cache.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sys/stat.h>
#include <tuple>
#include <utility>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

constexpr size_t damaged_kept_max = 3;
constexpr const char* damaged_suffix = ".damaged-";

bool is_damaged(const std::string& name) {
  return name.size() > prepare_cache::key_length &&
         prepare_cache::is_key(name.substr(0, prepare_cache::key_length)) &&
         name.substr(prepare_cache::key_length).starts_with(damaged_suffix);
}

bool is_unfinished(const std::string& name) {
  return name.ends_with(".tmp") &&
         prepare_cache::is_key(name.substr(0, prepare_cache::key_length));
}

/// The lock that shows whether a folder of the cache is in use.
std::string lock_name_of(const std::string& name) {
  return is_damaged(name) ? name : name.substr(0, prepare_cache::key_length);
}

prepare_cache::entry look_at(const fs::path& folder) {
  prepare_cache::entry out{folder.filename().string(), 0,
                           modified_ns(folder / "manifest.json")};
  if (out.used_ns == 0)
    out.used_ns = modified_ns(folder);
  return out;
}

/// Adds the bytes of their files. A file that several have goes with the last
/// of them, so it counts there.
void add_bytes(const fs::path& folder,
               std::vector<prepare_cache::entry>& entries) {
  const auto goes_later = [](const prepare_cache::entry& a,
                             const prepare_cache::entry& b) {
    return std::tuple(a.in_use, a.whole(), a.used_ns, a.name) >
           std::tuple(b.in_use, b.whole(), b.used_ns, b.name);
  };
  std::vector<prepare_cache::entry*> last_first;
  for (prepare_cache::entry& one : entries)
    last_first.push_back(&one);
  std::sort(last_first.begin(), last_first.end(),
            [&](const auto* a, const auto* b) { return goes_later(*a, *b); });
  std::set<std::pair<dev_t, ino_t>> counted;
  std::error_code ignored;
  for (prepare_cache::entry* one : last_first)
    for (const fs::directory_entry& file :
         fs::recursive_directory_iterator(folder / one->name, ignored)) {
      struct stat about {};
      if (::stat(file.path().c_str(), &about) == 0 && S_ISREG(about.st_mode) &&
          (about.st_nlink < 2 ||
           counted.insert({about.st_dev, about.st_ino}).second))
        one->bytes += uint64_t(about.st_size);
    }
}

} // namespace

fs::path prepare_cache::set_aside(const std::string& key,
                                  const store::file_lock& held) const {
  // One at a time: who comes second finds that the lock has moved.
  store::file_lock turn = lock_of(key + ".turn");
  constexpr std::chrono::seconds patience{10};
  if (!take(turn, store::file_lock::mode::exclusive, patience) ||
      !held.is_at(lock_path_of(key)))
    return {};
  std::vector<std::pair<int64_t, std::string>> older;
  size_t newest = 0;
  std::error_code error;
  for (const fs::directory_entry& one : fs::directory_iterator(folder_, error))
    if (const std::string name = one.path().filename().string();
        is_damaged(name)) {
      older.emplace_back(modified_ns(one.path()), name);
      if (name.starts_with(key))
        newest = std::max<size_t>(
            newest,
            std::strtoul(name.c_str() + name.rfind('-') + 1, nullptr, 10));
    }
  std::sort(older.begin(), older.end());
  size_t kept = older.size();
  for (const auto& [when, name] : older)
    if (kept >= damaged_kept_max && remove(name))
      --kept;
  const std::string name = key + damaged_suffix + std::to_string(newest + 1);
  fs::rename(folder_of(key), folder_of(name), error);
  if (error)
    refuse_write(folder_of(name), error.value());
  fs::rename(lock_path_of(key), lock_path_of(name), error);
  if (error)
    refuse_write(lock_path_of(name), error.value());
  return folder_of(name);
}

/// False: in use.
bool prepare_cache::remove(const std::string& name) const {
  store::file_lock lock = lock_of(lock_name_of(name));
  if (!take(lock, store::file_lock::mode::exclusive))
    return false;
  std::error_code ignored;
  if (is_key(name)) {
    // Renamed first, so that a set is complete or absent during removal, too.
    fs::remove_all(making_of(name), ignored);
    fs::rename(folder_of(name), making_of(name), ignored);
    fs::remove_all(making_of(name), ignored);
    return true;
  }
  fs::remove_all(folder_of(name), ignored);
  if (is_damaged(name))
    fs::remove(lock_path_of(name), ignored); // its number is not used again
  return true;
}

std::vector<prepare_cache::entry> prepare_cache::entries() const {
  std::vector<entry> out;
  std::error_code ignored;
  for (const fs::directory_entry& one :
       fs::directory_iterator(folder_, ignored)) {
    const std::string name = one.path().filename().string();
    if (!is_key(name) && !is_damaged(name) && !is_unfinished(name) &&
        name != fragments_name)
      continue;
    out.push_back(look_at(one.path()));
    store::file_lock lock = lock_of(lock_name_of(name));
    out.back().in_use = !take(lock, store::file_lock::mode::exclusive);
  }
  add_bytes(folder_, out);
  std::sort(out.begin(), out.end(), [](const entry& a, const entry& b) {
    return std::pair(a.used_ns, a.name) < std::pair(b.used_ns, b.name);
  });
  return out;
}

std::vector<prepare_cache::entry> prepare_cache::clear() const {
  std::vector<entry> kept;
  for (const entry& one : entries())
    if (one.in_use || !remove(one.name))
      kept.push_back(one);
  return kept;
}

void prepare_cache::evict(uint64_t limit_bytes) const {
  std::vector<entry> all = entries();
  uint64_t sum = 0;
  for (const entry& one : all)
    if (is_unfinished(one.name))
      remove(one.name);
    else
      sum += one.bytes;
  std::erase_if(all, [](const entry& one) { return is_unfinished(one.name); });
  // Damaged sets first.
  std::stable_sort(all.begin(), all.end(), [](const entry& a, const entry& b) {
    return a.whole() < b.whole();
  });
  for (const entry& one : all) {
    if (sum <= limit_bytes)
      return;
    if (remove(one.name))
      sum -= one.bytes;
  }
}

} // namespace ballast::data
