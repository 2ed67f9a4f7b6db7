#include "data/source/file_system.hpp"

#include "data/source/remote_errors.hpp"
#include "data/source/remote_file.hpp"
#include "data/source/remote_uri.hpp"
#include "data/source/s3_library.hpp"
#include "data/source/source_file.hpp"
#include "data/source/stream_file.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/filesystem/filesystem.h>
#include <arrow/filesystem/localfs.h>
#include <arrow/io/file.h>
#include <arrow/util/future.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace ballast::data {

namespace {

using arrow::fs::FileInfo;
using arrow::fs::FileType;
using arrow_file = std::shared_ptr<arrow::io::RandomAccessFile>;

constexpr std::string_view wildcards = "*?[";
// More is a wrong pattern, and each costs a request.
constexpr size_t files_max = 1'000'000;

/// Requests that wait for an answer at the same time.
constexpr size_t asked_at_once = 64;

bool is_pattern(std::string_view text) {
  return text.find_first_of(wildcards) != std::string_view::npos;
}

bool is_local(const std::string& uri) {
  return uri.find("://") == std::string::npos || uri.starts_with("file://");
}

std::vector<stored_file> find_local(const std::string& uri,
                                    const std::string& pointer) {
  std::vector<stored_file> out;
  for (const std::string& path : expand_uri(uri, pointer)) {
    const file_stamp stamp = stamp_of(path, pointer);
    out.push_back({path, stamp.size, stamp.mtime_ns, {}, path, nullptr});
  }
  return out;
}

/// The files of one remote URI.
class remote_search {
public:
  remote_search(const std::string& uri, const std::string& pointer,
                const store::work_watch& stop)
      : parts_(parse_remote_uri(uri, pointer)), pointer_(pointer), stop_(stop) {
    if (parts_.scheme == "s3")
      load_s3(pointer);
    const std::string query = query_for_store();
    const std::string root = parts_.scheme + "://" + parts_.authority + "/" +
                             (query.empty() ? "" : "?" + query);
    const auto system = parts_.scheme == "s3"
                            ? open_s3(root, &root_)
                            : arrow::fs::FileSystemFromUri(root, &root_);
    if (is_not_in_build(system.status()))
      throw ballast_error(errc::not_in_build,
                          printable(parts_.name()) + ": reading from " +
                              printable(parts_.scheme) +
                              ":// is not in this build, or not on this "
                              "machine (" +
                              words_of(system.status()) +
                              "); copy the files and name their path",
                          pointer);
    system_ = take(system);
    while (root_.ends_with('/'))
      root_.pop_back();
  }

  std::vector<stored_file> find() {
    std::vector<FileInfo> found;
    if (!lists_its_folder())
      found = literal();
    if (found.empty())
      found = matching();
    if (found.empty())
      refuse("no file matches; check the pattern");
    std::sort(found.begin(), found.end(), FileInfo::ByPath{});
    // An existing name is taken literally, stars included.
    for (const FileInfo& one : found)
      if (one.path() == root_ + "/" + parts_.key) {
        found = {FileInfo(one)};
        break;
      }
    std::vector<stored_file> out;
    for (const FileInfo& one : found)
      out.push_back({name_of(one.path()),
                     uint64_t(one.size()),
                     one.mtime().time_since_epoch().count(),
                     {},
                     one.path(),
                     system_});
    for (size_t begin = 0; begin < out.size(); begin += asked_at_once)
      note_versions(out, begin, std::min(out.size(), begin + asked_at_once));
    return out;
  }

  stored_folder folder() const {
    std::string key = parts_.key;
    while (key.ends_with('/'))
      key.pop_back();
    return {parts_.place() + (key.empty() ? "" : "/" + key),
            root_ + (key.empty() ? "" : "/" + key), system_};
  }

private:
  bool is_google() const {
    return parts_.scheme == "gs" || parts_.scheme == "gcs";
  }
  /// Google's client would try for a quarter of an hour.
  std::string query_for_store() const {
    if (!is_google() ||
        parts_.query.find("retry_limit_seconds=") != std::string::npos)
      return parts_.query;
    return parts_.query + (parts_.query.empty() ? "" : "&") +
           "retry_limit_seconds=10";
  }
  /// Also where a library is missing that Arrow loads itself: HDFS's.
  static bool is_not_in_build(const arrow::Status& status) {
    return status.IsNotImplemented() ||
           status.message().find("Unrecognized filesystem type") !=
               std::string::npos ||
           status.message().find("Unable to load") != std::string::npos;
  }

  template <class T>
  T take(arrow::Result<T> result) const {
    if (!result.ok())
      throw ballast_error(
          explain_remote(result.status(), parts_.name(), pointer_));
    return std::move(result).ValueUnsafe();
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw ballast_error(errc::invalid_data,
                        printable(parts_.name()) + ": " + why, pointer_);
  }
  std::string name_of(const std::string& path) const {
    return parts_.place() + path.substr(root_.size());
  }

  /// Whether one listing shows all that matches and what has the name itself.
  bool lists_its_folder() const {
    const size_t name = parts_.key.rfind('/') + 1; // 0: there is no folder
    return is_pattern(parts_.key) && !is_pattern(parts_.key.substr(0, name));
  }

  std::vector<FileInfo> literal() const {
    const FileInfo info = take(system_->GetFileInfo(root_ + "/" + parts_.key));
    if (info.type() == FileType::File)
      return {info};
    if (is_pattern(parts_.key))
      return {};
    if (info.type() == FileType::Directory)
      refuse("is a folder; name a file, or a pattern such as " +
             printable(parts_.name()) + "/*.parquet");
    check_bucket();
    refuse("there is no such file; check the key");
  }

  void check_bucket() const {
    if (!root_.empty() &&
        take(system_->GetFileInfo(root_)).type() == FileType::NotFound)
      refuse("there is no such bucket; check its name, region and "
             "endpoint_override");
  }

  /// Folder by folder, as glob(3) does, so that a large bucket is not listed as
  /// a whole.
  std::vector<FileInfo> matching() const {
    std::vector<std::string> folders{root_};
    std::string_view rest = parts_.key;
    for (;;) {
      const size_t slash = rest.find('/');
      const std::string part(rest.substr(0, slash));
      const bool last = slash == std::string_view::npos;
      if (!last && is_pattern(part) && is_google())
        return below(folders[0], std::string(rest));
      if (!last && !is_pattern(part)) {
        for (std::string& folder : folders)
          folder += "/" + part;
      } else {
        std::vector<FileInfo> found =
            list(folders, part, last ? FileType::File : FileType::Directory);
        if (last)
          return found;
        folders.clear();
        for (const FileInfo& one : found)
          folders.push_back(one.path());
      }
      rest.remove_prefix(slash + 1);
    }
  }

  /// Where Arrow lists no folders that only the names of objects make up: all
  /// that lies as deep as the pattern goes.
  std::vector<FileInfo> below(const std::string& folder,
                              const std::string& pattern) const {
    store::check_stop(stop_);
    arrow::fs::FileSelector what;
    what.base_dir = folder;
    what.allow_not_found = true;
    what.recursive = true;
    what.max_recursion =
        int32_t(std::count(pattern.begin(), pattern.end(), '/'));
    std::vector<FileInfo> out;
    for (FileInfo& one : take(system_->GetFileInfo(what)))
      if (one.type() == FileType::File &&
          matches_path(one.path().substr(folder.size() + 1), pattern))
        out.push_back(std::move(one));
    check_count(out.size());
    if (out.empty())
      check_bucket();
    return out;
  }

  /// Part by part.
  static bool matches_path(std::string_view path, std::string_view pattern) {
    for (;;) {
      const size_t in_path = path.find('/');
      const size_t in_pattern = pattern.find('/');
      const bool last = in_pattern == std::string_view::npos;
      if ((in_path == std::string_view::npos) != last ||
          !matches_glob(path.substr(0, in_path), pattern.substr(0, in_pattern)))
        return false;
      if (last)
        return true;
      path.remove_prefix(in_path + 1);
      pattern.remove_prefix(in_pattern + 1);
    }
  }

  void check_count(size_t files) const {
    if (files > files_max)
      refuse("more than " + std::to_string(files_max) +
             " files match; choose a narrower pattern");
  }

  std::vector<FileInfo> list(const std::vector<std::string>& folders,
                             const std::string& pattern, FileType type) const {
    std::vector<FileInfo> out;
    for (const std::string& folder : folders) {
      store::check_stop(stop_);
      arrow::fs::FileSelector what;
      what.base_dir = folder.empty() ? "/" : folder;
      what.allow_not_found = true;
      for (FileInfo& one : take(system_->GetFileInfo(what)))
        if (one.type() == type && (matches_glob(one.base_name(), pattern) ||
                                   one.base_name() == pattern))
          out.push_back(std::move(one));
      check_count(out.size());
    }
    if (out.empty())
      check_bucket();
    return out;
  }

  void note_versions(std::vector<stored_file>& files, size_t begin,
                     size_t end) const;

  const remote_uri parts_;
  const std::string& pointer_;
  const store::work_watch& stop_;
  std::shared_ptr<arrow::fs::FileSystem> system_;
  std::string root_; // the bucket's path in it
};

void remote_search::note_versions(std::vector<stored_file>& files, size_t begin,
                                  size_t end) const {
  store::check_stop(stop_);
  std::vector<arrow::Future<arrow_file>> opened;
  for (size_t i = begin; i < end; ++i)
    opened.push_back(system_->OpenInputFileAsync(files[i].path));
  // All are waited for before one throws: they hold on to the store.
  for (const auto& one : opened)
    one.Wait();
  for (size_t i = begin; i < end; ++i) {
    stored_file& file = files[i];
    const auto say = [&](const arrow::Status& status) {
      if (!status.ok())
        throw ballast_error(explain_remote(status, file.name, pointer_));
    };
    const arrow::Result<arrow_file>& one = opened[i - begin].result();
    say(one.status());
    const auto size = (*one)->GetSize();
    say(size.status());
    file.size = uint64_t(*size);
    const auto metadata = (*one)->ReadMetadata();
    say(metadata.status());
    file.version = version_of(metadata->get(), *size, file.mtime_ns);
  }
}

bool in_brackets(std::string_view set, char c) {
  bool in = false;
  for (size_t i = 0; i < set.size(); ++i)
    if (i + 2 < set.size() && set[i + 1] == '-') {
      in = in || (static_cast<unsigned char>(set[i]) <=
                      static_cast<unsigned char>(c) &&
                  static_cast<unsigned char>(c) <=
                      static_cast<unsigned char>(set[i + 2]));
      i += 2;
    } else {
      in = in || set[i] == c;
    }
  return in;
}

/// The length of the pattern's first element, and whether it takes `c`.
std::pair<size_t, bool> takes(std::string_view pattern, char c) {
  if (pattern[0] == '?')
    return {1, true};
  if (pattern[0] == '[') {
    const bool none = pattern.size() > 1 && pattern[1] == '!';
    const size_t begin = none ? 2 : 1;
    // A bracket that comes first is one of the set.
    const size_t end = pattern.find(']', begin + 1);
    if (end != std::string_view::npos)
      return {end + 1,
              in_brackets(pattern.substr(begin, end - begin), c) != none};
  }
  return {1, pattern[0] == c};
}

} // namespace

bool matches_glob(std::string_view name, std::string_view pattern) {
  if (name.starts_with('.') && !pattern.starts_with('.'))
    return false;
  // Back to the last star, which then takes one character more.
  size_t star = std::string_view::npos;
  size_t star_took = 0;
  size_t at = 0;
  size_t in = 0;
  while (at < name.size()) {
    if (in < pattern.size() && pattern[in] == '*') {
      star = in++;
      star_took = at;
      continue;
    }
    if (in < pattern.size()) {
      const auto [length, fits] = takes(pattern.substr(in), name[at]);
      if (fits) {
        in += length;
        ++at;
        continue;
      }
    }
    if (star == std::string_view::npos)
      return false;
    in = star + 1;
    at = ++star_took;
  }
  return pattern.find_first_not_of('*', in) == std::string_view::npos;
}

std::vector<stored_file> find_files(const std::string& uri,
                                    const std::string& pointer,
                                    const store::work_watch& stop) {
  if (is_local(uri))
    return find_local(uri, pointer);
  return remote_search(uri, pointer, stop).find();
}

stored_folder find_folder(const std::string& uri, const std::string& pointer) {
  if (!is_local(uri))
    return remote_search(uri, pointer, {}).folder();
  std::string path =
      uri.starts_with("file://") ? uri.substr(std::strlen("file://")) : uri;
  path = std::filesystem::absolute(path).lexically_normal().string();
  while (path.size() > 1 && path.ends_with('/'))
    path.pop_back();
  return {path, path, std::make_shared<arrow::fs::LocalFileSystem>()};
}

std::optional<stored_file> file_in(const stored_folder& folder,
                                   const std::string& name,
                                   const std::string& pointer) {
  stored_file out;
  out.name = folder.name + "/" + name;
  out.path = folder.path + "/" + name;
  out.system = folder.system;
  const auto info = folder.system->GetFileInfo(out.path);
  if (!info.ok())
    throw ballast_error(explain_remote(info.status(), out.name, pointer));
  if (info->type() != FileType::File)
    return std::nullopt;
  out.size = uint64_t(info->size());
  return out;
}

std::shared_ptr<arrow::io::RandomAccessFile>
open_file(const stored_file& file, const std::string& pointer,
          uint64_t whole_max) {
  if (file.system == nullptr) {
    stamp_of(file.path, pointer); // a clear error if missing
    auto opened = arrow::io::ReadableFile::Open(file.path);
    if (!opened.ok())
      throw ballast_error(errc::invalid_data,
                          printable(file.name) + ": cannot be opened: " +
                              words_of(opened.status()),
                          pointer);
    return std::move(opened).ValueUnsafe();
  }
  if (file.begun && file.begun->claim())
    return file.begun->take();
  return remote_file(file, pointer, whole_max).take();
}

void open_soon(std::span<stored_file> files, const std::string& pointer,
               uint64_t whole_max) {
  uint64_t room = soon_bytes();
  for (stored_file& one : files)
    if (!open_soon(one, pointer, whole_max, room))
      return;
}

} // namespace ballast::data
