/// The tables of a set of many chunks (data/prepared/set_tables.hpp), copied
/// beside the manifest of a run while the run goes on: only an audit reads
/// them, and no step waits for hundreds of megabytes. One owner; the copies are
/// made on a thread of its own.
#pragma once

#include <filesystem>
#include <thread>

namespace ballast::actors {

class table_copy {
public:
  table_copy() = default;
  table_copy(const table_copy&) = delete;
  table_copy& operator=(const table_copy&) = delete;

  /// Begins, in the background. A table that is there in full stays.
  void begin(const std::filesystem::path& from, const std::filesystem::path& to,
             const std::filesystem::path& unfinished_in);
  /// Waits, and copies here what could not be copied there. Throws
  /// ballast_error{disk_full, run_dir_unusable, invalid_data}.
  void complete();

private:
  std::filesystem::path from_; // empty: nothing to copy
  std::filesystem::path to_;
  std::filesystem::path unfinished_in_;
  std::jthread thread_;
};

} // namespace ballast::actors
