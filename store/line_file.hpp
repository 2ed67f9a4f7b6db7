/// An append-only file of whole lines: the files of a run directory that other
/// processes read while they grow (steps.jsonl, events.jsonl, traces).
///
/// Each append is one write(2), so that a killed writer leaves no torn line;
/// only a power cut may, and opening the file cuts a torn last line off. One
/// writer per file; one thread at a time.
#pragma once

#include "runtime/base/unique_fd.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace ballast::store {

class line_file {
public:
  /// Opens for appending; creates the file if it is absent. Throws
  /// ballast_error: run_dir_unusable, disk_full. `fault` names the fault point
  /// of its appends, for tests.
  explicit line_file(std::filesystem::path path, const char* fault = "");

  /// Appends one or more lines and adds a missing last line end. Throws
  /// ballast_error{disk_full} if there is no space; the file then ends with the
  /// last complete append before.
  void append(std::string_view lines);

  /// Truncates to the first `bytes`, which end a line.
  void shorten(uint64_t bytes);

  /// Waits until all appended lines are on disk.
  void sync();

  /// The last line without its line end; empty if there is none.
  std::string last_line() const;

  const std::filesystem::path& path() const { return path_; }
  uint64_t bytes() const { return bytes_; }

private:
  std::filesystem::path path_;
  const char* fault_;
  unique_fd descriptor_;
  uint64_t bytes_ = 0; // always at the end of a line
};

} // namespace ballast::store
