/// The file under a record stream, wherever it lies, and how its failures are
/// said. Everything that a file can claim ends here: reads stop at its end, and
/// nothing in it asks for more memory than allocation_max. Includes Arrow; for
/// source files of data/ only.
///
/// A stream owns its file. One thread, except that Arrow may read through
/// file() from its own. Errors: ballast_error{invalid_data}, or what the file
/// itself says by a read_failure (a server that is away: unreachable).
#pragma once

#include "runtime/base/errors.hpp"
#include "store/work_watch.hpp"

#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/status.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace ballast::data {

/// Of one piece of memory: a damaged length can claim 2^63 bytes.
constexpr int64_t allocation_max = int64_t{4} << 30;

/// Refuses larger pieces. Lives as long as the process, because batches hold on
/// to the pool that they come from.
arrow::MemoryPool* limited_pool();

/// Goes with a Status through Arrow: the error that a user is to see.
class read_failure : public arrow::StatusDetail {
public:
  explicit read_failure(failure what) : what_(std::move(what)) {}
  const char* type_id() const override { return id; }
  std::string ToString() const override { return what_.message; }
  const failure& what() const { return what_; }
  static constexpr const char* id = "ballast::data::read_failure";

private:
  failure what_;
};

/// What every stream is opened with.
struct stream_input {
  std::shared_ptr<arrow::io::RandomAccessFile> file;
  std::string name;                    // for messages: a path or URI
  std::string pointer = "/data/train"; // the job's field, for errors
  store::work_watch stop = {};
};

class stream_file {
public:
  explicit stream_file(stream_input input);

  /// For Arrow's readers. Remembers the first read that failed.
  const std::shared_ptr<arrow::io::RandomAccessFile>& file() const {
    return guarded_;
  }
  const std::string& name() const { return name_; } // printable
  const std::string& pointer() const { return input_.pointer; }
  int64_t size() const { return size_; }
  /// The bytes at a position, fewer at the end of the file.
  std::string part(int64_t position, int64_t bytes) const;
  std::string head(int64_t bytes) const { return part(0, bytes); }
  std::string tail(int64_t bytes) const { return part(size_ - bytes, bytes); }

  /// "people.arrow: why".
  [[noreturn]] void refuse(const std::string& why,
                           const std::string& detail = {}) const;
  /// Refuses unless ok: with the file's own failure, if that is the cause, else
  /// "people.arrow: doing: Arrow's words".
  void check(const arrow::Status& status, const std::string& doing) const;
  /// The same of what a library found wrong in the file itself: "people.arrow:
  /// is damaged: it cannot be read as Arrow; fetch or write it again (its
  /// words)".
  void check_sound(const arrow::Status& status, const std::string& doing,
                   const std::string& damage = "is damaged") const;
  template <class T>
  T take_sound(arrow::Result<T> result, const std::string& doing,
               const std::string& damage = "is damaged") const {
    check_sound(result.status(), doing, damage);
    return std::move(result).ValueUnsafe();
  }
  template <class T>
  T take(arrow::Result<T> result, const std::string& doing) const {
    check(result.status(), doing);
    return std::move(result).ValueUnsafe();
  }
  void check_stop() const { store::check_stop(input_.stop); }

private:
  class guarded_file;
  arrow::Status own_failure() const;
  stream_input input_;
  std::string name_;
  std::shared_ptr<arrow::io::RandomAccessFile> guarded_;
  int64_t size_ = 0;
};

/// For check(): what is found wrong in the batch behind that row.
std::string damaged_after(int64_t row);

/// Arrow's words in one line, without what is only of use to its authors.
std::string words_of(const arrow::Status& status);

/// "Parquet", "gzip", "HTML", ... by the first and last bytes of a file; empty
/// if nothing is recognised. `remedy`: what a user does about it, after "this
/// is Parquet; ".
struct known_content {
  std::string_view name;
  std::string_view remedy;
};
constexpr std::string_view text_in_utf16 = "text in UTF-16";
known_content content_of(std::string_view head, std::string_view tail);

} // namespace ballast::data
