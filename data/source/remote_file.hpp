/// A file of a store while it is opened. Two questions go out at the same time:
/// is it still the version that was found, and what are its first bytes (all of
/// them where it is small), so that opening costs one round trip and a small
/// file no other. Includes Arrow; for source files of data/ only.
///
/// Begun on one thread, taken on any, once. The destructor waits for what is on
/// its way.
#pragma once

#include "data/source/file_system.hpp"

#include <arrow/util/future.h>
#include <arrow/util/key_value_metadata.h>

#include <atomic>
#include <memory>
#include <string>

namespace ballast::data {

/// By what the store says of a file: the ETag, where it has one.
std::string version_of(const arrow::KeyValueMetadata* metadata, int64_t size,
                       int64_t mtime_ns);

class remote_file {
public:
  /// Files of up to `whole_max` bytes are fetched as a whole.
  remote_file(const stored_file& file, const std::string& pointer,
              uint64_t whole_max);
  ~remote_file();
  remote_file(const remote_file&) = delete;
  remote_file& operator=(const remote_file&) = delete;

  /// Whether the caller is the first, and so the one that may take it.
  bool claim() { return !claimed_.exchange(true); }
  bool is_claimed() const { return claimed_; }
  /// ballast_error: it is gone, has changed, or the store does not answer.
  std::shared_ptr<arrow::io::RandomAccessFile> take();

private:
  using arrow_file = std::shared_ptr<arrow::io::RandomAccessFile>;
  failure explain(const arrow::Status& status) const;
  arrow_file reading(arrow_file below) const;

  const std::string name_;
  const std::string pointer_;
  const int64_t size_;
  const int64_t mtime_ns_;
  const std::string version_;
  const bool whole_;
  arrow_file begun_; // where the store needs not be asked to open it
  arrow::Future<arrow_file> asked_;
  std::atomic<bool> claimed_{false};
};

/// Of files that are fetched before somebody opens them: 64 MiB, or an eighth
/// of what this process may use.
uint64_t soon_bytes();

/// Begins to open a file of a store that is small enough, if nobody has;
/// `room`: for files that nobody has taken yet. False: it is not on its way.
bool open_soon(stored_file& file, const std::string& pointer,
               uint64_t whole_max, uint64_t& room);

} // namespace ballast::data
