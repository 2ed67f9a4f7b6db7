/// What a checkpoint's manifest says of the bytes of its state file, and the
/// check of them by whoever reads the file. A file is hashed in parts, each by
/// itself, so that several threads can; an older manifest has one for all of
/// it.
///
/// Errors: ballast_error{invalid_data}, names the file and the part.
#pragma once

#include "data/base/content_hash.hpp"

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ballast::data {

struct state_part {
  uint64_t bytes = 0;
  std::string xxh64; // 16 hex digits
};

struct state_checksums {
  uint64_t bytes = 0;            // of the file
  std::vector<state_part> parts; // one after another; together all of it
};

/// Of a manifest, or why it names none.
std::optional<state_checksums> checksums_in(const nlohmann::json& manifest,
                                            std::string& why);
/// As a manifest has them.
nlohmann::json as_json(const state_checksums& what);
/// Of the manifest in the folder of that state file.
state_checksums checksums_beside(const std::filesystem::path& state);

/// Hashes a file's bytes as they come, block by block: in the order of the file
/// within each part. Thread-safe.
class state_check {
public:
  /// `name`: of the file, for messages.
  state_check(std::string name, state_checksums expected);

  /// These bytes, one span behind the other, begin with the file's byte `at`.
  /// Waits until those before them in the part came, so whoever hands out
  /// blocks does it in their order. Nothing after stop(). Throws where a part
  /// is whole and not what it was.
  void add(uint64_t at, std::span<const std::span<const char>> bytes);
  /// Nobody waits any more.
  void stop();

private:
  struct part {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t at = 0; // hashed up to here
    content_hash hash;
  };
  bool await_turn(const part& one, uint64_t at);
  void hashed(part& one, size_t bytes);
  [[noreturn]] void refuse(size_t number) const;

  const std::string name_;
  const state_checksums expected_;
  std::vector<part> parts_;
  std::mutex mutex_; // of the places up to which they are hashed
  std::condition_variable moved_;
  bool stopped_ = false;
};

} // namespace ballast::data
