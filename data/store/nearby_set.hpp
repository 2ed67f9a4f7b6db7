/// The prepared set of a run in this machine's own cache: where coordinator and
/// workers share a machine, its bytes need no way through sockets. Every chunk
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

  /// As chunk_file::read().
  chunk_ptr read(data_part part, chunk_id id) const {
    return files_.read(part, id);
  }

private:
  nearby_set(const std::filesystem::path& folder, const ledger::manifest& set,
             std::unique_ptr<store::file_lock> in_use);

  std::unique_ptr<store::file_lock> in_use_;
  chunk_files files_;
};

} // namespace ballast::data
