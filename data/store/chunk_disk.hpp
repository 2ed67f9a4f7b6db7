/// Chunks that a worker keeps on its own disk, because its memory has no room
/// for all that it uses: an unnamed file in a folder, which is gone with the
/// process however it ends. What is read is checked against the manifest, so a
/// disk that returns other bytes costs a fetch, never correctness.
///
/// Each chunk of a share is used once an epoch: any part of them is as good as
/// another, so a full disk keeps what it has. Thread-safe. Never throws: a disk
/// that fails is said once (log line of the owner) and used no more.
#pragma once

#include "data/store/chunk.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace ballast::data {

class chunk_disk {
public:
  /// `warn` is told why nothing is kept any more. `set` must outlive this.
  chunk_disk(const std::filesystem::path& folder, uint64_t limit_bytes,
             const ledger::manifest& set,
             std::function<void(const std::string&)> warn);

  /// Keeps a training chunk, unless it does not fit or is here already.
  void put(const chunk& what);
  /// Null if it is not here, or not any more.
  chunk_ptr read(chunk_id id);
  /// Drops all training chunks but these.
  void keep_only(const std::vector<bool>& kept);
  uint64_t bytes() const;

private:
  struct place {
    uint64_t at = 0;
    uint64_t bytes = 0;
  };
  uint64_t bytes_of(uint32_t rows) const;
  /// Where so many bytes have room.
  bool find_room(uint64_t bytes, uint64_t& at);
  void forget(chunk_id id);
  void fail(const std::string& what, int error);

  const ledger::manifest& set_;
  const uint64_t limit_bytes_;
  const std::function<void(const std::string&)> warn_;
  mutable std::mutex mutex_; // guards the following
  unique_fd file_;           // none: nothing is kept
  std::map<chunk_id, place> kept_;
  std::multimap<uint64_t, uint64_t> holes_; // bytes -> where
  uint64_t end_ = 0;                        // of the file
  uint64_t bytes_ = 0;
};

} // namespace ballast::data
