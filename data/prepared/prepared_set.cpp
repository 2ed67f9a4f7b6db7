#include "data/prepared/prepared_folder.hpp"

#include "data/base/content_hash.hpp"
#include "data/fitting/state_files.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "data/prepared/set_identity.hpp"
#include "data/prepared/set_tables.hpp"
#include "data/store/chunk_file.hpp"
#include "runtime/base/json_text.hpp"
#include "store/json_file.hpp"

#include <fstream>
#include <nlohmann/json.hpp>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

constexpr const char* checksum_key = "checksum";
constexpr const char* columns_key = "columns";

std::string text_checksum(const nlohmann::json& content) {
  const std::string text = json_text(content);
  return checksum(text.data(), text.size());
}

class set_in_folder final : public prepared_set {
public:
  explicit set_in_folder(const fs::path& folder)
      : folder_(folder), about_(read_manifest(folder)), files_(folder, about_) {
  }

  const ledger::manifest& about() const override { return about_; }
  fs::path folder() const override { return folder_; }

  chunk_ptr read(data_part part, chunk_id id) const override {
    return files_.read(part, id);
  }

  void hold(std::shared_ptr<store::file_lock> in_use,
            std::vector<std::string> sources) {
    in_use_ = std::move(in_use);
    about_.sources = std::move(sources);
  }

private:
  fs::path folder_;
  ledger::manifest about_;
  chunk_files files_;
  std::shared_ptr<store::file_lock> in_use_;
};

} // namespace

ledger::manifest read_manifest(const fs::path& folder) {
  const fs::path path = folder / "manifest.json";
  std::error_code ignored;
  std::ifstream in(path);
  if (!in || fs::is_directory(path, ignored))
    throw ballast_error(errc::invalid_data,
                        path.string() + (in ? " is a folder" : " is missing") +
                            ": this is no prepared data set");
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
  } catch (const nlohmann::json::parse_error& error) {
    throw ballast_error(errc::invalid_data,
                        path.string() + ": is damaged or was cut off at byte " +
                            std::to_string(error.byte) +
                            "; expected JSON: prepare the set again");
  } catch (const nlohmann::json::exception& error) {
    throw ballast_error(errc::invalid_data,
                        path.string() + ": " + error.what());
  }
}

std::shared_ptr<prepared_set>
open_held(const fs::path& folder, std::shared_ptr<store::file_lock> in_use,
          std::vector<std::string> sources) {
  auto out = std::make_shared<set_in_folder>(folder);
  out->hold(std::move(in_use), std::move(sources));
  return out;
}

std::vector<std::string> columns_of_set(const fs::path& folder) {
  const nlohmann::json about = store::read_json_file(folder / "manifest.json");
  const nlohmann::json found = about.is_object()
                                   ? about.value(columns_key, nlohmann::json())
                                   : nlohmann::json();
  return found.is_array() ? found.get<std::vector<std::string>>()
                          : std::vector<std::string>();
}

void name_columns(const fs::path& set, nlohmann::json& manifest) {
  if (const auto columns = columns_of_set(set); !columns.empty())
    manifest[columns_key] = columns;
}

void write_manifest(const fs::path& folder, ledger::manifest about,
                    const nlohmann::json& sampling,
                    const std::vector<std::string>& columns) {
  if (about.train.size() + about.test.size() > chunks_in_json_max) {
    const std::string chunks = chunk_table(about);
    write_small_file(folder / chunk_table_name, chunks);
    about.tables = {checksum(chunks.data(), chunks.size()),
                    write_sample_table(about, folder / sample_table_name),
                    about.train.size()};
  }
  nlohmann::json content = about;
  name_states(folder, content);
  if (!columns.empty())
    content[columns_key] = columns;
  if (!sampling.is_null())
    content[sampling_key] = sampling;
  content[checksum_key] = text_checksum(content);
  write_small_file(folder / "manifest.json", json_text(content));
}

} // namespace ballast::data
