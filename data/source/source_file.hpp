/// Source files on this machine: found by URI, read in one pass, gzip or not.
/// Errors: ballast_error{invalid_data} with the file in the message.
#pragma once

#include "store/work_watch.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

/// The files named by a path, a glob or a file:// URI (with %20 for a blank),
/// sorted; never empty. Other schemes are refused as not in this build.
std::vector<std::string> expand_uri(const std::string& uri,
                                    const std::string& pointer);

/// One file, read forward once; gzip is recognised by content and unpacked.
class source_file {
public:
  /// `pointer` = the job's field, for errors. `stop` cancels reading with
  /// ballast_error{stopped}.
  source_file(std::string path, std::string pointer,
              store::work_watch stop = {});
  ~source_file();
  source_file(const source_file&) = delete;
  source_file& operator=(const source_file&) = delete;

  /// Fills `to` and returns the bytes read, fewer only at the end. A truncated
  /// .gz is an error.
  size_t read(void* to, size_t bytes);
  /// Upper bound of the remaining bytes: a header cannot claim more.
  uint64_t bytes_at_most() const;
  const std::string& path() const { return path_; }

private:
  struct stream;
  std::string path_;
  std::string pointer_;
  store::work_watch stop_;
  std::unique_ptr<stream> stream_;
};

/// Identifies a version of a file without reading it. Refuses folders, pipes
/// and devices.
struct file_stamp {
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  uint64_t inode = 0;
  friend bool operator==(const file_stamp&, const file_stamp&) = default;
};
file_stamp stamp_of(const std::string& path, const std::string& pointer);

} // namespace ballast::data
