#include "data/store/stored_set.hpp"

#include "data/base/arrow_support.hpp"
#include "data/base/content_hash.hpp"
#include "data/source/file_system.hpp"
#include "data/source/remote_errors.hpp"
#include "data/source/stream_file.hpp"
#include "data/store/block_file.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/printable.hpp"
#include "store/refuse_file.hpp"

#include <arrow/api.h>
#include <arrow/filesystem/filesystem.h>
#include <arrow/io/file.h>
#include <arrow/util/io_util.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

constexpr const char* pointer = "/data/train/uri";
constexpr const char* manifest_name = "manifest.json";
constexpr const char* rows_of_parts[] = {"train.arrow", "test.arrow"};
/// Which not every set has.
constexpr const char* tables[] = {"chunks.arrow", "samples.arrow",
                                  "quarantine.jsonl"};
constexpr int64_t copied_at_once = 8 << 20;

/// A folder of this machine has no network in between.
failure explain(const arrow::Status& status, const std::string& name) {
  if (!name.starts_with('/'))
    return explain_remote(status, name, pointer);
  if (store::means_disk_full(arrow::internal::ErrnoFromStatus(status)))
    return {errc::disk_full,
            printable(name) + ": the disk is full; make room there, or write "
                              "to another disk",
            pointer};
  return {errc::invalid_data,
          printable(name) + ": " + words_of(status) +
              "; name a folder in which you may read and write",
          pointer};
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

std::string text_of(const stored_file& file) {
  const auto in = take(file.system->OpenInputFile(file.path), file.name);
  return take(in->Read(int64_t(file.size)), file.name)->ToString();
}

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::string out(std::istreambuf_iterator<char>(in), {});
  if (!in)
    throw ballast_error(errc::invalid_data, path.string() + " cannot be read");
  return out;
}

/// Complete or absent in stores that publish an object when it is closed; what
/// a folder of this machine has of one whose writer died is not named by a
/// manifest.
void copy_there(const fs::path& from, const stored_folder& to,
                const store::work_watch& stop) {
  const std::string file = from.filename().string();
  const std::string name = to.name + "/" + file;
  const auto in = take_arrow(arrow::io::ReadableFile::Open(from.string()),
                             errc::invalid_data, from.string());
  const auto out =
      take(to.system->OpenOutputStream(to.path + "/" + file), name);
  for (;;) {
    store::check_stop(stop);
    if (int fault = fault_point("stored_set.write"))
      throw ballast_error(errc::disk_full,
                          printable(name) + ": cannot be written: " +
                              std::generic_category().message(fault));
    const auto block =
        take_arrow(in->Read(copied_at_once), errc::invalid_data, from.string());
    if (block->size() == 0)
      break;
    check(out->Write(block), name);
  }
  check(out->Close(), name);
}

/// Of files that are equally long.
bool is_equal(const fs::path& here, const stored_file& there,
              const store::work_watch& stop) {
  const auto ours = take_arrow(arrow::io::ReadableFile::Open(here.string()),
                               errc::invalid_data, here.string());
  const auto theirs =
      take(there.system->OpenInputStream(there.path), there.name);
  for (uint64_t at = 0; at < there.size; at += uint64_t(copied_at_once)) {
    store::check_stop(stop);
    const auto a = take_arrow(ours->Read(copied_at_once), errc::invalid_data,
                              here.string());
    if (!a->Equals(*take(theirs->Read(copied_at_once), there.name)))
      return false;
  }
  return true;
}

/// Whether a place has all pieces of a set, each as here. A store keeps what it
/// was given; a disk may have damaged it, and who writes a set again wants that
/// mended.
bool is_whole(const fs::path& folder, const stored_folder& place,
              const std::vector<std::string>& names,
              const store::work_watch& stop) {
  const bool is_here = place.system->type_name() == "local";
  return std::all_of(names.begin(), names.end(), [&](const auto& name) {
    const std::optional<stored_file> there = file_in(place, name, pointer);
    return there && there->size == fs::file_size(folder / name) &&
           (!is_here || is_equal(folder / name, *there, stop));
  });
}

std::vector<std::string> pieces_of(const fs::path& folder) {
  std::vector<std::string> out(std::begin(rows_of_parts),
                               std::end(rows_of_parts));
  for (const char* name : tables)
    if (fs::exists(folder / name))
      out.push_back(name);
  return out;
}

/// Of a file that was copied: what its source says.
stored_file piece(const stored_folder& place, const std::string& name) {
  std::optional<stored_file> out = file_in(place, name, pointer);
  if (!out)
    throw ballast_error(errc::invalid_data,
                        printable(place.name) +
                            ": the prepared set there "
                            "lacks " +
                            name +
                            "; write it again, with `ballast data "
                            "prepare JOB --to URI`",
                        pointer);
  return *out;
}

std::shared_ptr<arrow::io::RandomAccessFile>
open_rows(const stored_folder& place, const char* name) {
  const stored_file file = piece(place, name);
  const auto opened = take(file.system->OpenInputFile(file.path), file.name);
  return in_blocks(opened, int64_t(file.size));
}

} // namespace

std::string stored_set_of(const std::string& job) {
  const nlohmann::json all = nlohmann::json::parse(job, nullptr, false);
  const nlohmann::json::json_pointer train("/data/train");
  if (!all.is_object() || !all.contains(train) ||
      all[train].value("format", "") != "prepared")
    return {};
  return all[train].value("uri", "");
}

std::string write_stored_set(const fs::path& folder, const std::string& uri,
                             const store::work_watch& stop) {
  const stored_folder place = find_folder(uri, "--to");
  const std::vector<std::string> names = pieces_of(folder);
  const std::string manifest = text_of(folder / manifest_name);
  if (const auto there = file_in(place, manifest_name, pointer)) {
    if (text_of(*there) != manifest)
      throw ballast_error(errc::invalid_data,
                          printable(place.name) +
                              ": has another prepared set; choose another "
                              "place, or remove that one");
    if (is_whole(folder, place, names, stop))
      return place.name;
    check(place.system->DeleteFile(there->path), there->name);
  }
  check(place.system->CreateDir(place.path, /*recursive=*/true), place.name);
  for (const std::string& name : names)
    copy_there(folder / name, place, stop);
  if (int fault = fault_point("stored_set.manifest"))
    throw ballast_error(errc::disk_full,
                        printable(place.name) + ": cannot be written: " +
                            std::generic_category().message(fault));
  copy_there(folder / manifest_name, place, stop);
  return place.name;
}

std::string manifest_of_stored(const std::string& uri) {
  const stored_folder place = find_folder(uri, pointer);
  const auto file = file_in(place, manifest_name, pointer);
  if (!file)
    throw ballast_error(errc::invalid_data,
                        printable(place.name) +
                            ": there is no prepared set: it has no "
                            "manifest.json; write one with `ballast data "
                            "prepare JOB --to URI`",
                        pointer);
  return text_of(*file);
}

void fetch_stored_tables(const std::string& uri, const fs::path& folder,
                         const store::work_watch& stop) {
  const stored_folder place = find_folder(uri, pointer);
  for (const char* name : tables) {
    store::check_stop(stop);
    const std::optional<stored_file> file = file_in(place, name, pointer);
    if (!file)
      continue; // whoever needs it says so
    std::ofstream out(folder / name, std::ios::binary);
    out << text_of(*file);
    out.close();
    if (!out)
      throw ballast_error(errc::disk_full,
                          (folder / name).string() +
                              ": cannot be written; make room, or point "
                              "$BALLAST_CACHE elsewhere");
  }
}

std::unique_ptr<chunk_files> open_stored_chunks(const std::string& uri,
                                                const ledger::manifest& set) {
  const stored_folder place = find_folder(uri, pointer);
  const auto rows = [&](const char* name) -> opened_rows {
    return {place.name + "/" + name, open_rows(place, name)};
  };
  return std::make_unique<chunk_files>(rows(rows_of_parts[0]),
                                       rows(rows_of_parts[1]), set);
}

} // namespace ballast::data
