/// The state that workers are to begin with, as the coordinator has it: what is
/// to be known of its file, so that a worker that sees the same file reads
/// that, and the file's bytes for the others. As blobs of the origin.
///
/// `serve` and `blob` from any thread.
#pragma once

#include "data/model/state_checksums.hpp"

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace ballast::actors {

/// What the origin says of it. Empty `file`: there is none.
struct checkpoint_about {
  std::string file; // its path where the coordinator runs
  data::state_checksums expected;
  std::string problem; // why it cannot be read; empty: it can
};

constexpr const char* checkpoint_about_blob = "checkpoint-about";
/// The file's first bytes: the length of its header, and that.
constexpr const char* checkpoint_header_blob = "checkpoint-header";
/// A blob "checkpoint-part@AT" has so many bytes from AT on, fewer at the end.
/// Several of them are on their way to each worker at a time.
constexpr const char* checkpoint_part_blob = "checkpoint-part";
constexpr uint64_t checkpoint_part_bytes = uint64_t{8} << 20;

/// Throws invalid_data.
checkpoint_about read_checkpoint_about(const std::string& text);

class served_checkpoint {
public:
  /// This state file from now on; empty: none.
  void serve(const std::string& file);
  /// Nothing for other names, for what is not there, or while there is none.
  std::optional<std::string> blob(const std::string& name) const;

private:
  mutable std::mutex mutex_; // of the following
  std::string file_;
};

} // namespace ballast::actors
