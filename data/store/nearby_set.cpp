#include "data/store/nearby_set.hpp"

#include "data/prepared/prepare_cache.hpp"
#include "data/store/stored_set.hpp"
#include "runtime/base/errors.hpp"

#include <system_error>

namespace ballast::data {

namespace fs = std::filesystem;

nearby_set::nearby_set(std::unique_ptr<chunk_files> files,
                       std::unique_ptr<store::file_lock> in_use)
    : in_use_(std::move(in_use)), files_(std::move(files)) {}

std::unique_ptr<nearby_set> nearby_set::in_store(const std::string& uri,
                                                 const ledger::manifest& set,
                                                 std::string& why) {
  try {
    return std::unique_ptr<nearby_set>(
        new nearby_set(open_stored_chunks(uri, set), nullptr));
  } catch (const ballast_error& error) {
    why = error.what();
    return nullptr; // the origin may reach it
  }
}

std::unique_ptr<nearby_set> nearby_set::find(const fs::path& cache_folder,
                                             const std::string& name,
                                             const ledger::manifest& set) {
  std::error_code none;
  if (!prepare_cache::is_key(name) ||
      !fs::exists(cache_folder / name / "train.arrow", none))
    return nullptr;
  try {
    const prepare_cache cache(cache_folder);
    auto lock = std::make_unique<store::file_lock>(cache.lock_of(name));
    if (!take(*lock, store::file_lock::mode::shared))
      return nullptr;
    return std::unique_ptr<nearby_set>(new nearby_set(
        std::make_unique<chunk_files>(cache.folder_of(name), set),
        std::move(lock)));
  } catch (const ballast_error&) {
    return nullptr; // the origin has it
  }
}

} // namespace ballast::data
