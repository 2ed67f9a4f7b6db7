/// Where source files lie: this machine, S3, or what else Arrow can reach.
/// Finds the files of a URI and opens them for record streams. Includes Arrow;
/// for source files of data/ only.
///
/// Credentials come from the environment, AWS's configuration files or the role
/// of the machine; a URI that holds some is refused, and never repeated in a
/// message. `s3://bucket/key?endpoint_override=HOST:PORT&scheme=http` reaches
/// other stores that speak S3; `region` may be given, too.
///
/// Any thread. Errors: ballast_error{invalid_data} for what the user can
/// correct, not_in_build for what this build cannot reach, unreachable for a
/// server that does not answer, after retries of some seconds.
#pragma once

#include "store/work_watch.hpp"

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace arrow::fs {
class FileSystem;
}

namespace ballast::data {

class remote_file;
struct image_folder;

/// Files of a store of up to so many bytes are fetched at once, before anything
/// of them is looked at: of larger ones it may be that not all is wanted.
constexpr uint64_t whole_file_max = uint64_t{16} << 20;

struct stored_file {
  std::string name; // for messages: "/data/a.csv", "s3://bucket/a.csv"
  uint64_t size = 0;
  int64_t mtime_ns = 0;
  /// Of a remote file: differs whenever its content does, so that it need not
  /// be read to be found in the cache. Empty for a local file: hash it.
  std::string version;
  std::string path;                              // inside `system`
  std::shared_ptr<arrow::fs::FileSystem> system; // null: this machine
  /// Since open_soon(); null: nobody has begun to open it.
  std::shared_ptr<remote_file> begun = nullptr;
  /// Instead of one file: some of a folder (parts_of() in image_folder.hpp).
  std::shared_ptr<const image_folder> images = nullptr;
};

/// The files named by a path, a glob (* ? [a-z], not across a slash), or a
/// file://, s3://, gs://, abfs:// or hdfs:// URI; sorted by name, never empty.
/// An existing name is taken literally.
std::vector<stored_file> find_files(const std::string& uri,
                                    const std::string& pointer,
                                    const store::work_watch& stop = {});

/// A place for files, which need not be there yet.
struct stored_folder {
  std::string name; // for messages, without a slash at its end
  std::string path; // inside `system`
  std::shared_ptr<arrow::fs::FileSystem> system; // of this machine, too
};
/// Of a path or URI as above, not a pattern. Reads nothing.
stored_folder find_folder(const std::string& uri, const std::string& pointer);
/// A file of it by its name; nothing if it is not there.
std::optional<stored_file> file_in(const stored_folder& folder,
                                   const std::string& name,
                                   const std::string& pointer);

/// Reads of a remote file are gathered and read ahead (read_ahead_file.hpp).
/// Refuses a file that has changed since it was found. `whole_max`: instead of
/// whole_file_max, where not all of a file is wanted.
std::shared_ptr<arrow::io::RandomAccessFile>
open_file(const stored_file& file, const std::string& pointer,
          uint64_t whole_max = whole_file_max);

/// Begins to fetch the first of these files, up to 64 MiB, where they are
/// small and lie in a store: whoever opens one finds its bytes on their way.
void open_soon(std::span<stored_file> files, const std::string& pointer,
               uint64_t whole_max = whole_file_max);

/// Whether a name fits a pattern; neither holds a slash. As in glob(7): a
/// leading point must be written, [!a-c] is none of these.
bool matches_glob(std::string_view name, std::string_view pattern);

/// The URI without user, password and the values of its query.
std::string without_secrets(const std::string& uri);

} // namespace ballast::data
