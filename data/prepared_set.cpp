#include "data/prepared_folder.hpp"

#include "data/arrow_support.hpp"

#include <array>
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>

namespace ballast {

namespace fs = std::filesystem;

namespace {

manifest read_manifest(const fs::path& folder) {
  const fs::path path = folder / "manifest.json";
  std::ifstream in(path);
  if (!in)
    throw ballast_error(errc::invalid_data,
                        path.string() +
                            " is missing: this is no prepared data set");
  try {
    return nlohmann::json::parse(in).get<manifest>();
  } catch (const nlohmann::json::exception& error) {
    throw ballast_error(errc::invalid_data,
                        path.string() + ": " + error.what());
  }
}

/// One Arrow IPC file, mapped.
class chunk_file {
public:
  chunk_file(const fs::path& path, const std::vector<chunk_info>& chunks,
             const row_shape& row)
      : path_(path.string()), row_(row) {
    map_ = take_arrow(
        arrow::io::MemoryMappedFile::Open(path_, arrow::io::FileMode::READ),
        errc::invalid_data, path_);
    reader_ = take_arrow(arrow::ipc::RecordBatchFileReader::Open(map_),
                         errc::invalid_data, path_);
    if (size_t(reader_->num_record_batches()) != chunks.size())
      throw ballast_error(
          errc::invalid_data,
          path_ + ": has " + std::to_string(reader_->num_record_batches()) +
              " chunks, its manifest has " + std::to_string(chunks.size()));
  }

  chunk_ptr read(chunk_id id) const {
    std::shared_ptr<arrow::RecordBatch> batch;
    {
      // Arrow's reader is not said to be thread-safe; reading is a few
      // microseconds, the bytes stay in the map.
      const std::lock_guard lock(mutex_);
      if (int64_t{value(id)} >= reader_->num_record_batches())
        throw ballast_error(errc::internal,
                            path_ + ": has no chunk " + to_string(id));
      batch = take_arrow(reader_->ReadRecordBatch(int(value(id))),
                         errc::invalid_data, path_);
    }
    return make_chunk(id, row_, std::move(batch));
  }

private:
  std::string path_;
  row_shape row_;
  std::shared_ptr<arrow::io::MemoryMappedFile> map_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
  mutable std::mutex mutex_;
};

class mapped_set final : public prepared_set {
public:
  explicit mapped_set(const fs::path& folder)
      : about_(read_manifest(folder)),
        train_(folder / "train.arrow", about_.train, about_.row),
        test_(folder / "test.arrow", about_.test, about_.row) {}

  const manifest& about() const override { return about_; }

  chunk_ptr read(data_part part, chunk_id id) const override {
    return (part == data_part::train ? train_ : test_).read(id);
  }

  void hold(file_lock in_use, std::vector<std::string> sources) {
    in_use_ = std::move(in_use);
    about_.sources = std::move(sources);
  }

private:
  manifest about_;
  chunk_file train_;
  chunk_file test_;
  file_lock in_use_;
};

} // namespace

std::shared_ptr<prepared_set> prepared_set::open(const fs::path& folder) {
  return std::make_shared<mapped_set>(folder);
}

std::shared_ptr<prepared_set> open_held(const fs::path& folder,
                                        file_lock& in_use,
                                        std::vector<std::string> sources) {
  auto out = std::make_shared<mapped_set>(folder);
  out->hold(std::move(in_use), std::move(sources));
  return out;
}

fs::path default_cache_folder() {
  if (const char* folder = std::getenv("BALLAST_CACHE");
      folder != nullptr && *folder != 0)
    return folder;
  const char* home = std::getenv("HOME");
  return fs::path(home != nullptr && *home != 0 ? home : "/tmp") / ".cache" /
         "ballast";
}

} // namespace ballast
