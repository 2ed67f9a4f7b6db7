/// The file of a state or a model under way: it has its size from the start,
/// and its parts are written side by side, by threads of its owner or by other
/// processes that see the same file system. That they read it is proved by a
/// token in a file beside it; that what they write arrives, by a mark that they
/// leave there: of an overlay over the folder both sides see the token.
///
/// Threads: the owner makes it and ends it, anyone writes. Throws
/// ballast_error{disk_full, run_dir_unusable}.
#pragma once

#include "runtime/base/unique_fd.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace ballast::data {

/// The names of points at which a test may let it fail.
struct writing_points {
  const char* write = "checkpoint.write";
  const char* sync = "checkpoint.sync";
};

class unfinished_state {
public:
  /// Takes the space for so many bytes. `file` is not there.
  unfinished_state(std::filesystem::path file, uint64_t bytes,
                   const writing_points& points = {});

  const std::filesystem::path& file() const { return file_; }
  uint64_t bytes() const { return bytes_; }
  const std::string& token() const { return token_; }
  void write(uint64_t at, std::string_view bytes) const;
  /// Another process has left this mark beside the file, or it has not; it is
  /// gone afterwards.
  bool take_mark(const std::string& mark) const;
  /// All that was written here is on the disk; nobody writes from here on.
  void end() const;

private:
  const std::filesystem::path file_;
  const uint64_t bytes_;
  const std::string token_;
  const writing_points points_;
  unique_fd fd_;
};

/// Where a process may write a part of another one's unfinished_state.
struct shared_place {
  std::filesystem::path file;
  std::string token;
};
/// The file is here, too.
bool sees(const shared_place& place);

/// The name of one that was never left anywhere.
std::string new_mark();
bool is_mark(std::string_view name);
/// Leaves it beside the file. False: the file is not here.
bool leave_mark(const shared_place& place, const std::string& mark);
/// Likewise takes it away again, from where it did not arrive.
bool remove_mark(const shared_place& place, const std::string& mark);

/// Writes a part of it, past the page cache where that goes, which is when the
/// bytes lie at whole pages here and there. One thread. Precondition:
/// sees(place).
class part_writer {
public:
  explicit part_writer(const shared_place& place);

  void write(uint64_t at, std::span<const char> bytes);
  /// All that this process wrote into the file is on the disk.
  void sync() const;

private:
  const std::filesystem::path file_;
  unique_fd direct_; // none: the file system has only the cache
  unique_fd cached_;
};
/// A part at once, on the disk afterwards.
void write_synced(const shared_place& place, uint64_t at,
                  std::span<const char> bytes);

} // namespace ballast::data
