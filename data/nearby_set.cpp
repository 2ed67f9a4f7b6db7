#include "data/nearby_set.hpp"

#include "data/prepare_cache.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"

#include <system_error>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

/// A name, and no way out of the cache.
bool is_plain(const std::string& name) {
  return !name.empty() && name[0] != '.' && name.find('/') == std::string::npos;
}

} // namespace

nearby_set::nearby_set(const fs::path& folder, const ledger::manifest& set,
                       std::unique_ptr<store::file_lock> in_use)
    : in_use_(std::move(in_use)),
      train_(folder / "train.arrow", set.train, set.row),
      test_(folder / "test.arrow", set.test, set.row) {}

std::unique_ptr<nearby_set> nearby_set::find(const fs::path& cache_folder,
                                             const std::string& name,
                                             const ledger::manifest& set) {
  std::error_code none;
  if (!is_plain(name) || !fs::exists(cache_folder / name / "train.arrow", none))
    return nullptr;
  try {
    const prepare_cache cache(cache_folder);
    auto lock = std::make_unique<store::file_lock>(cache.lock_of(name));
    if (!take(*lock, store::file_lock::mode::shared))
      return nullptr;
    return std::unique_ptr<nearby_set>(
        new nearby_set(cache.folder_of(name), set, std::move(lock)));
  } catch (const ballast_error&) {
    return nullptr; // the origin has it
  }
}

chunk_ptr nearby_set::read(data_part part, chunk_id id) const {
  if (int fault = fault_point("store.read"))
    throw ballast_error(errc::invalid_data,
                        "cannot read chunk " + to_string(id) + ": " +
                            std::generic_category().message(fault));
  return (part == data_part::train ? train_ : test_).read(id);
}

} // namespace ballast::data
