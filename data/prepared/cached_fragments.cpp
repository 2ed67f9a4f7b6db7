/// Fragments in the cache folder: where they lie, and when they go.
#include "data/prepared/prepare_cache.hpp"

#include <cerrno>
#include <chrono>
#include <sys/stat.h>
#include <utility>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

/// Who had this one read does not come back for it.
constexpr std::chrono::hours kept_for{7 * 24};

bool was_left(const fs::directory_entry& one) {
  std::error_code error;
  const fs::file_time_type changed = one.last_write_time(error);
  return !error && fs::file_time_type::clock::now() - changed > kept_for;
}

} // namespace

fs::path prepare_cache::fragment_path(const std::string& key) const {
  const fs::path folder = folder_ / fragments_name;
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    refuse_write(folder, errno);
  return folder / key;
}

std::shared_ptr<store::file_lock> prepare_cache::use_fragments() const {
  constexpr std::chrono::seconds patience{10}; // for one who removes all
  auto out = std::make_shared<store::file_lock>(lock_of(fragments_name));
  (void)take(*out, store::file_lock::mode::shared, patience);
  return out;
}

void prepare_cache::remove_fragments(
    const std::vector<std::string>& keys) const {
  std::error_code ignored;
  const fs::path folder = folder_ / fragments_name;
  for (const std::string& key : keys)
    if (is_key(key))
      fs::remove(folder / key, ignored);
  store::file_lock all = lock_of(fragments_name);
  if (!take(all, store::file_lock::mode::exclusive))
    return;
  for (const fs::directory_entry& one : fs::directory_iterator(folder, ignored))
    if (!is_key(one.path().filename().string()) || was_left(one))
      fs::remove(one.path(), ignored);
  fs::remove(folder, ignored); // if it is empty
}

} // namespace ballast::data
