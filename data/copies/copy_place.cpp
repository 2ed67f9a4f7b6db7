#include "data/copies/copy_place.hpp"

#include "data/base/content_hash.hpp"
#include "data/model/checkpoint_writing.hpp"
#include "data/source/file_system.hpp"
#include "data/source/remote_errors.hpp"
#include "data/source/stream_file.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "store/refuse_file.hpp"
#include "store/sync_path.hpp"

#include <arrow/buffer.h>
#include <arrow/filesystem/filesystem.h>
#include <arrow/io/interfaces.h>
#include <arrow/util/io_util.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <map>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ballast::data {

namespace {

namespace fs = std::filesystem;
using arrow::fs::FileInfo;
using arrow::fs::FileType;

constexpr const char* pointer = "/checkpoint/copy_to";
constexpr const char* owner_name = "run.json";
constexpr const char* manifest_name = "manifest.json";
constexpr const char* probe_name = "may-be-written";
constexpr const char* own_key = ".partial";
/// Of an object; a store takes at most 10,000 parts of one.
constexpr uint64_t part_bytes = uint64_t{16} << 20;
constexpr uint64_t parts_max = 9000;
/// So many are on their way at the same time, and in memory.
constexpr uint64_t parts_at_once = 4;
constexpr int64_t fetched_at_once = 8 << 20;
constexpr uint64_t small_max = uint64_t{64} << 20;

/// As for the files of data, but these are written.
failure explain(const arrow::Status& status, const std::string& name) {
  if (name.starts_with('/')) {
    const int number = arrow::internal::ErrnoFromStatus(status);
    if (store::means_disk_full(number))
      return {errc::disk_full,
              printable(name) + ": the disk is full; make room there", pointer};
    return {errc::invalid_data,
            printable(name) + ": " + words_of(status) +
                "; name a folder in which you may read and write",
            pointer};
  }
  failure out = explain_remote(status, name, pointer);
  const auto say = [&out](std::string_view old, std::string_view instead) {
    if (const size_t at = out.message.find(old); at != std::string::npos)
      out.message.replace(at, old.size(), instead);
  };
  say("that they may read this bucket",
      "that they may list, read, write and remove what lies there");
  say("there is no such file; check the key",
      "there is no such bucket, or no such object in it; make the bucket, or "
      "check its name");
  return out;
}

template <class T>
T take(arrow::Result<T> result, const std::string& name) {
  if (!result.ok())
    throw ballast_error(explain(result.status(), name));
  return std::move(result).ValueUnsafe();
}
void check(const arrow::Status& status, const std::string& name) {
  if (!status.ok())
    throw ballast_error(explain(status, name));
}

/// A stream that is closed where nobody says otherwise would publish an object
/// that lacks its end.
class written_object {
public:
  written_object(std::shared_ptr<arrow::io::OutputStream> out, std::string name)
      : out_(std::move(out)), name_(std::move(name)) {}
  ~written_object() {
    if (!closed_)
      (void)out_->Abort();
  }
  written_object(const written_object&) = delete;
  written_object& operator=(const written_object&) = delete;

  void write(const std::shared_ptr<arrow::Buffer>& block) {
    check(out_->Write(block), name_);
  }
  /// What was written is there: its memory is free.
  void settle() { check(out_->Flush(), name_); }
  void close() {
    check(out_->Close(), name_);
    closed_ = true;
  }

private:
  std::shared_ptr<arrow::io::OutputStream> out_;
  std::string name_;
  bool closed_ = false;
};

} // namespace

struct copy_place::reached {
  stored_folder folder;
  bool is_local = false;
  std::string path(const std::string& name) const {
    return folder.path + "/" + name;
  }
  std::string shown(const std::string& name) const {
    return folder.name + "/" + name;
  }
  arrow::fs::FileSystem& system() const { return *folder.system; }
  /// Stores have no folders to be made.
  void make_parent(const std::string& name) const {
    if (!is_local)
      return;
    const fs::path parent = fs::path(path(name)).parent_path();
    check(system().CreateDir(parent.string(), /*recursive=*/true),
          parent.string());
  }
};

copy_place::copy_place(const std::string& uri)
    : at_(std::make_unique<reached>()) {
  at_->folder = find_folder(uri, pointer);
  at_->is_local = at_->folder.system->type_name() == "local";
}

copy_place::~copy_place() = default;

const std::string& copy_place::name() const {
  return at_->folder.name;
}

void copy_place::write_small(const std::string& name,
                             std::string_view text) const {
  at_->make_parent(name);
  // Of this machine's files half of one may be seen.
  const std::string first = at_->path(name) + (at_->is_local ? own_key : "");
  written_object out(
      take(at_->system().OpenOutputStream(first), at_->shown(name)),
      at_->shown(name));
  out.write(arrow::Buffer::FromString(std::string(text)));
  out.close();
  if (!at_->is_local)
    return;
  store::sync_path(first);
  check(at_->system().Move(first, at_->path(name)), at_->shown(name));
  store::sync_path(fs::path(at_->path(name)).parent_path());
}

std::optional<std::string>
copy_place::read_small(const std::string& name) const {
  const FileInfo info =
      take(at_->system().GetFileInfo(at_->path(name)), at_->shown(name));
  if (info.type() != FileType::File)
    return std::nullopt;
  if (uint64_t(info.size()) > small_max)
    throw ballast_error(errc::invalid_data,
                        printable(at_->shown(name)) + " has " +
                            std::to_string(info.size()) +
                            " bytes, and is none of Ballast's files",
                        pointer);
  const auto in =
      take(at_->system().OpenInputStream(at_->path(name)), at_->shown(name));
  return take(in->Read(info.size()), at_->shown(name))->ToString();
}

void copy_place::check_writable() const {
  write_small(probe_name, "\n");
  check(at_->system().DeleteFile(at_->path(probe_name)),
        at_->shown(probe_name));
}

std::optional<copy_owner> copy_place::owner() const {
  const std::optional<std::string> text = read_small(owner_name);
  if (!text)
    return std::nullopt;
  const nlohmann::json found = nlohmann::json::parse(*text, nullptr, false);
  try {
    return copy_owner{found.at("run").get<std::string>(),
                      found.at("identity").get<std::string>(),
                      found.at("term").get<uint64_t>()};
  } catch (const nlohmann::json::exception&) {
    throw ballast_error(errc::invalid_data,
                        printable(at_->shown(owner_name)) +
                            ": expected Ballast's note of the run that copies "
                            "there, found something else; choose another "
                            "place, or remove that file",
                        pointer);
  }
}

void copy_place::own(const copy_owner& who) const {
  write_small(owner_name,
              json_lines_text(nlohmann::ordered_json{{"run", who.run},
                                                     {"identity", who.identity},
                                                     {"term", who.term}}) +
                  "\n");
}

void copy_place::begin(const std::string& folder) const {
  const FileInfo info =
      take(at_->system().GetFileInfo(at_->path(folder)), at_->shown(folder));
  if (info.type() != FileType::NotFound)
    remove(folder);
}

copied_file copy_place::put(const std::string& folder, const file_to_copy& what,
                            const store::work_watch& stop) const {
  const std::string name = folder + "/" + what.name;
  at_->make_parent(name);
  content_hash hash;
  const uint64_t block = std::max(
      part_bytes, (what.bytes / parts_max / part_bytes + 1) * part_bytes);
  written_object out(
      take(at_->system().OpenOutputStream(at_->path(name)), at_->shown(name)),
      at_->shown(name));
  uint64_t on_their_way = 0;
  for (uint64_t at = 0; at < what.bytes;) {
    store::check_stop(stop);
    if (int fault = fault_point("copies.write"))
      throw ballast_error(
          errc::unreachable,
          printable(at_->shown(name)) +
              ": cannot be written: " + std::generic_category().message(fault));
    const uint64_t count = std::min(block, what.bytes - at);
    std::shared_ptr<arrow::Buffer> part =
        take(arrow::AllocateBuffer(int64_t(count)), at_->shown(name));
    read_part(what, at, reinterpret_cast<char*>(part->mutable_data()), count);
    hash.update(part->data(), count);
    out.write(part);
    at += count;
    if (++on_their_way % parts_at_once == 0)
      out.settle();
  }
  out.close();
  if (at_->is_local)
    store::sync_path(at_->path(name));
  const FileInfo there =
      take(at_->system().GetFileInfo(at_->path(name)), at_->shown(name));
  if (there.type() != FileType::File || uint64_t(there.size()) != what.bytes)
    throw ballast_error(errc::invalid_data,
                        printable(at_->shown(name)) + ": the store has " +
                            std::to_string(std::max<int64_t>(0, there.size())) +
                            " of the " + std::to_string(what.bytes) +
                            " bytes that were written; somebody else writes "
                            "there",
                        pointer);
  return {what.name, what.bytes, hex16(hash.digest())};
}

void copy_place::complete(const std::string& folder,
                          nlohmann::ordered_json about,
                          const std::vector<copied_file>& files) const {
  nlohmann::ordered_json& list = about["files"] =
      nlohmann::ordered_json::array();
  for (const copied_file& one : files)
    list.push_back(
        {{"name", one.name}, {"bytes", one.bytes}, {"xxh64", one.xxh64}});
  if (int fault = fault_point("copies.complete"))
    throw ballast_error(
        errc::unreachable,
        printable(at_->shown(folder)) +
            ": cannot be written: " + std::generic_category().message(fault));
  write_small(folder + "/" + manifest_name, json_lines_text(about) + "\n");
}

void copy_place::remove(const std::string& folder) const {
  const std::string manifest = folder + "/" + manifest_name;
  const FileInfo info = take(at_->system().GetFileInfo(at_->path(manifest)),
                             at_->shown(manifest));
  if (info.type() == FileType::File)
    check(at_->system().DeleteFile(at_->path(manifest)), at_->shown(manifest));
  check(at_->system().DeleteDir(at_->path(folder)), at_->shown(folder));
}

/// Of all files there: "step-40/state.safetensors".
std::vector<std::string> copy_place::names() const {
  arrow::fs::FileSelector what;
  what.base_dir = at_->folder.path;
  what.allow_not_found = true;
  // Not every store lists folders that only the names of objects make up.
  what.recursive = true;
  std::vector<std::string> out;
  for (const FileInfo& one :
       take(at_->system().GetFileInfo(what), at_->folder.name))
    if (one.type() == FileType::File &&
        one.path().size() > at_->folder.path.size())
      out.push_back(one.path().substr(at_->folder.path.size() + 1));
  return out;
}

std::vector<found_copy> copy_place::checkpoints() const {
  std::vector<found_copy> out;
  for (const std::string& name : names()) {
    const size_t slash = name.find('/');
    found_copy copy;
    copy.folder = name.substr(0, slash);
    copy.step = step_of_copy(copy.folder);
    if (copy.step == step_number{} || slash == std::string::npos ||
        name.substr(slash + 1) != manifest_name)
      continue;
    const std::optional<std::string> text = read_small(name);
    if (!text)
      continue; // it has just been removed
    read_copy(*text, copy);
    out.push_back(std::move(copy));
  }
  std::sort(out.begin(), out.end(),
            [](const auto& a, const auto& b) { return a.step < b.step; });
  return out;
}

std::vector<std::string> copy_place::unfinished() const {
  std::map<std::string, bool> complete;
  for (const std::string& name : names())
    if (const size_t slash = name.find('/');
        slash != std::string::npos &&
        step_of_copy(name.substr(0, slash)) > step_number{}) {
      bool& has_manifest = complete[name.substr(0, slash)];
      has_manifest = has_manifest || name.substr(slash + 1) == manifest_name;
    }
  std::vector<std::string> out;
  for (const auto& [folder, has_manifest] : complete)
    if (!has_manifest)
      out.push_back(folder);
  return out;
}

nlohmann::json copy_place::model_manifest() const {
  const auto text = read_small(std::string(model_folder) + "/" + manifest_name);
  nlohmann::json out =
      text ? nlohmann::json::parse(*text, nullptr, false) : nlohmann::json();
  return out.is_object() ? out : nlohmann::json();
}

void copy_place::fetch_file(const found_copy& of, const copied_file& which,
                            const fs::path& to,
                            const store::work_watch& stop) const {
  const std::string name = of.folder + "/" + which.name;
  const auto damaged = [&](const std::string& what) {
    return ballast_error(errc::invalid_data, printable(at_->shown(name)) + " " +
                                                 what +
                                                 "; it was changed after it "
                                                 "was copied");
  };
  const FileInfo info =
      take(at_->system().GetFileInfo(at_->path(name)), at_->shown(name));
  if (info.type() != FileType::File)
    throw damaged("is missing");
  if (uint64_t(info.size()) != which.bytes)
    throw damaged("has " + std::to_string(info.size()) + " of its " +
                  std::to_string(which.bytes) + " bytes");
  const fs::path place = to / which.name;
  fs::create_directories(place.parent_path());
  const unique_fd file(
      ::open(place.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file)
    writing_failed(place, "make");
  const auto in =
      take(at_->system().OpenInputStream(at_->path(name)), at_->shown(name));
  content_hash hash;
  for (uint64_t at = 0; at < which.bytes;) {
    store::check_stop(stop);
    const auto block = take(in->Read(fetched_at_once), at_->shown(name));
    if (block->size() == 0)
      throw damaged("ends after " + std::to_string(at) + " bytes");
    const std::string_view bytes(reinterpret_cast<const char*>(block->data()),
                                 size_t(block->size()));
    hash.update(bytes);
    write_bytes_at(file.get(), at, bytes, place);
    at += bytes.size();
  }
  if (const std::string found = hex16(hash.digest()); found != which.xxh64)
    throw damaged("has the checksum " + found + " (XXH64), expected " +
                  which.xxh64);
  if (::fdatasync(file.get()) != 0)
    writing_failed(place, "sync");
}

void copy_place::fetch(const found_copy& which, const fs::path& to,
                       const store::work_watch& stop,
                       std::string_view only) const {
  for (const copied_file& one : which.files)
    if (one.name.starts_with(only))
      fetch_file(which, one, to, stop);
}

} // namespace ballast::data
