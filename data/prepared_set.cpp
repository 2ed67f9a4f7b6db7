#include "data/prepared_folder.hpp"

#include "data/arrow_support.hpp"
#include "data/content_hash.hpp"
#include "data/prepare_cache.hpp"
#include "data/set_tables.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"

#include <array>
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <system_error>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

constexpr const char* checksum_key = "checksum";

std::string text_checksum(const nlohmann::json& content) {
  const std::string text = json_text(content);
  return checksum(text.data(), text.size());
}

ledger::manifest read_manifest(const fs::path& folder) {
  const fs::path path = folder / "manifest.json";
  std::ifstream in(path);
  if (!in)
    throw ballast_error(errc::invalid_data,
                        path.string() +
                            " is missing: this is no prepared data set");
  try {
    nlohmann::json content = nlohmann::json::parse(in);
    // Sets of earlier builds have no checksum.
    const nlohmann::json sum = content.value(checksum_key, nlohmann::json());
    content.erase(checksum_key);
    if (!sum.is_null() && sum != text_checksum(content))
      throw ballast_error(errc::invalid_data,
                          path.string() + ": is damaged: its checksum is " +
                              text_checksum(content) + ", expected " +
                              json_text(sum));
    auto out = content.get<ledger::manifest>();
    read_chunks(folder, out);
    return out;
  } catch (const nlohmann::json::exception& error) {
    throw ballast_error(errc::invalid_data,
                        path.string() + ": " + error.what());
  }
}

/// One Arrow IPC file.
class chunk_file {
public:
  chunk_file(const fs::path& path,
             const std::vector<ledger::chunk_info>& chunks,
             const ledger::row_shape& row)
      : path_(path.string()), row_(row), chunks_(chunks) {
    // Its calls come back with fewer bytes where the file was cut.
    file_ = take_arrow(arrow::io::ReadableFile::Open(path_), errc::invalid_data,
                       path_);
    reader_ = take_arrow(arrow::ipc::RecordBatchFileReader::Open(file_),
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
      // Arrow's reader is not documented as thread-safe; the expensive part,
      // the checksum, is outside the lock.
      const std::lock_guard lock(mutex_);
      if (int64_t{value(id)} >= reader_->num_record_batches())
        throw ballast_error(errc::internal,
                            path_ + ": has no chunk " + to_string(id));
      batch = take_arrow(reader_->ReadRecordBatch(int(value(id))),
                         errc::invalid_data, path_);
    }
    chunk_ptr out;
    try {
      out = make_chunk(id, row_, std::move(batch));
    } catch (const ballast_error& error) {
      throw ballast_error(errc::invalid_data, path_ + ": " + error.what());
    }
    const std::string& expected = chunks_[value(id)].checksum;
    const std::string found = checksum(*out, row_);
    if (found != expected)
      throw ballast_error(errc::invalid_data,
                          path_ + ": chunk " + to_string(id) +
                              " is damaged: its checksum is " + found +
                              ", expected " + expected);
    return out;
  }

private:
  std::string path_;
  ledger::row_shape row_;
  const std::vector<ledger::chunk_info>& chunks_;
  std::shared_ptr<arrow::io::ReadableFile> file_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
  mutable std::mutex mutex_;
};

class set_in_folder final : public prepared_set {
public:
  explicit set_in_folder(const fs::path& folder)
      : folder_(folder), about_(read_manifest(folder)),
        train_(folder / "train.arrow", about_.train, about_.row),
        test_(folder / "test.arrow", about_.test, about_.row) {}

  const ledger::manifest& about() const override { return about_; }
  fs::path folder() const override { return folder_; }

  chunk_ptr read(data_part part, chunk_id id) const override {
    if (int fault = fault_point("store.read"))
      throw ballast_error(errc::invalid_data,
                          "cannot read chunk " + to_string(id) + ": " +
                              std::generic_category().message(fault));
    return (part == data_part::train ? train_ : test_).read(id);
  }

  void hold(std::shared_ptr<store::file_lock> in_use,
            std::vector<std::string> sources) {
    in_use_ = std::move(in_use);
    about_.sources = std::move(sources);
  }

private:
  fs::path folder_;
  ledger::manifest about_;
  chunk_file train_;
  chunk_file test_;
  std::shared_ptr<store::file_lock> in_use_;
};

} // namespace

std::shared_ptr<prepared_set>
open_held(const fs::path& folder, std::shared_ptr<store::file_lock> in_use,
          std::vector<std::string> sources) {
  auto out = std::make_shared<set_in_folder>(folder);
  out->hold(std::move(in_use), std::move(sources));
  return out;
}

void write_manifest(const fs::path& folder, ledger::manifest about) {
  if (about.train.size() + about.test.size() > chunks_in_json_max) {
    const auto write = [&](const char* name, const std::string& bytes) {
      write_small_file(folder / name, bytes);
      return checksum(bytes.data(), bytes.size());
    };
    about.tables = {write(chunk_table_name, chunk_table(about)),
                    write(sample_table_name, sample_table(about)),
                    about.train.size()};
  }
  nlohmann::json content = about;
  content[checksum_key] = text_checksum(content);
  write_small_file(folder / "manifest.json", json_text(content));
}

} // namespace ballast::data
