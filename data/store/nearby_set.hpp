/// The prepared set of a run where a worker reaches it without the coordinator:
/// in this machine's own cache, or in the store where the job names it. Its
/// bytes need no way through the coordinator's sockets. Every chunk
/// is checked against the manifest that the origin sent, so another set of the
/// same name, or a damaged one, is found and never used.
#pragma once

#include "data/store/chunk_file.hpp"
#include "runtime/ledger/manifest.hpp"
#include "store/file_lock.hpp"

#include <filesystem>
#include <memory>
#include <string>

namespace ballast::data {

class nearby_set {
public:
  /// Null if the cache has no set of this name, or it is not for this user to
  /// read, or not this set. While it is open, nobody evicts it. `set` must
  /// outlive it.
  static std::unique_ptr<nearby_set>
  find(const std::filesystem::path& cache_folder, const std::string& name,
       const ledger::manifest& set);

  /// Of a job that trains on a set in a store: each worker reads there itself.
  /// Null, with why in `why`: it cannot be read from here. `set` must outlive
  /// it.
  static std::unique_ptr<nearby_set> in_store(const std::string& uri,
                                              const ledger::manifest& set,
                                              std::string& why);

  /// As chunk_file::read().
  chunk_ptr read(data_part part, chunk_id id) const {
    return files_->read(part, id);
  }

private:
  nearby_set(std::unique_ptr<chunk_files> files,
             std::unique_ptr<store::file_lock> in_use);

  std::unique_ptr<store::file_lock> in_use_; // null: of a store
  std::unique_ptr<chunk_files> files_;
};

} // namespace ballast::data
