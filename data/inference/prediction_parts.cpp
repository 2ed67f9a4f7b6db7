#include "data/inference/prediction_parts.hpp"

#include "data/base/content_hash.hpp"
#include "data/model/safetensors.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "store/json_file.hpp"
#include "store/refuse_file.hpp"
#include "store/whole_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <utility>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

constexpr int parts_version = 1;
constexpr const char* about_name = "about.json";
constexpr const char* features_name = "features";
constexpr const char* labels_name = "labels";
constexpr const char* answers_name = "answers";
constexpr const char* checksum_key = "xxh64";

std::string number_of(part_number part) {
  const std::string digits = std::to_string(uint64_t(part));
  constexpr size_t width = 6; // so that a listing is in order
  return std::string(width - std::min(width, digits.size()), '0') + digits;
}

std::string checksum_of(std::span<const float> values) {
  content_hash out;
  out.update(values.data(), values.size_bytes());
  return hex16(out.digest());
}

} // namespace

size_t rows_of_part(size_t features) {
  constexpr size_t numbers = size_t{2} << 20;
  constexpr size_t least = 256;
  constexpr size_t most = 16384;
  return std::clamp(numbers / std::max<size_t>(features, 1), least, most);
}

prediction_parts::prediction_parts(fs::path folder,
                                   const std::string& fingerprint)
    : folder_(std::move(folder)) {
  std::error_code error;
  fs::create_directory(folder_, error);
  if (error && error != std::errc::file_exists)
    store::refuse_file(folder_, "make", error.value());
  lock();
  take_up(fingerprint);
}

void prediction_parts::lock() {
  lock_.reset(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock_)
    store::refuse_file(folder_, "open", errno);
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0)
    throw ballast_error(errc::run_dir_in_use,
                        printable(folder_.string()) +
                            ": another process fills it; wait for its end, or "
                            "name another output");
}

void prediction_parts::take_up(const std::string& fingerprint) {
  const fs::path about = folder_ / about_name;
  std::error_code error;
  const bool is_empty = fs::is_empty(folder_, error);
  const nlohmann::json found = store::read_json_file(about);
  const bool is_ours = found.is_object() && found.contains("fingerprint");
  if (!is_empty && !is_ours)
    throw ballast_error(errc::usage,
                        printable(folder_.string()) +
                            ": is in the way, and was not made by `ballast "
                            "predict`; remove it, or name another output");
  if (is_ours && found.value("version", 0) == parts_version &&
      found.at("fingerprint") == fingerprint)
    return;
  // Of another input, or another model. The note goes last.
  for (const fs::directory_entry& one : fs::directory_iterator(folder_, error))
    if (one.path().filename() != about_name)
      fs::remove(one.path(), error);
  store::write_whole(about,
                     json_text(nlohmann::json{{"version", parts_version},
                                              {"fingerprint", fingerprint}}),
                     store::outlives::process);
}

fs::path prediction_parts::rows_file(part_number part) const {
  return folder_ / ("rows-" + number_of(part) + ".safetensors");
}

fs::path prediction_parts::answers_file(part_number part) const {
  return folder_ / ("answers-" + number_of(part) + ".safetensors");
}

void prediction_parts::write_rows(part_number part,
                                  const labelled_features& rows) const {
  const auto count = int64_t(rows.rows);
  const int64_t width = count > 0 ? int64_t(rows.features.size()) / count : 0;
  std::vector<tensor_view> all{{features_name, {count, width}, rows.features}};
  if (!rows.labels.empty())
    all.push_back({labels_name, {count}, rows.labels});
  store::write_whole(rows_file(part), safetensors_bytes(all),
                     store::outlives::process);
}

void prediction_parts::remove_rows(part_number part) const {
  std::error_code ignored;
  fs::remove(rows_file(part), ignored);
}

std::optional<std::vector<float>>
prediction_parts::answers(part_number part, size_t rows, size_t columns) const {
  std::error_code ignored;
  const fs::path file = answers_file(part);
  if (!fs::exists(file, ignored))
    return std::nullopt;
  try {
    const tensor_file content = read_safetensors(file.string());
    const tensor_view* found = content.find(answers_name);
    const auto sum = content.metadata.find(checksum_key);
    if (found == nullptr || found->values.size() != rows * columns ||
        sum == content.metadata.end() ||
        sum->second != checksum_of(found->values))
      return std::nullopt;
    return std::vector<float>(found->values.begin(), found->values.end());
  } catch (const ballast_error&) { // damaged: it is computed again
    return std::nullopt;
  }
}

void prediction_parts::remove() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
  lock_.reset();
}

labelled_features read_rows(const fs::path& file) {
  const tensor_file content = read_safetensors(file.string());
  const tensor_view* features = content.find(features_name);
  if (features == nullptr || features->shape.size() != 2)
    throw ballast_error(errc::invalid_data,
                        printable(file.string()) + ": holds no rows");
  labelled_features out;
  out.rows = size_t(features->shape[0]);
  out.features.assign(features->values.begin(), features->values.end());
  if (const tensor_view* labels = content.find(labels_name))
    out.labels.assign(labels->values.begin(), labels->values.end());
  return out;
}

void write_answers(const fs::path& file, const std::vector<float>& answers,
                   size_t columns) {
  const auto rows = int64_t(answers.size() / std::max<size_t>(columns, 1));
  store::write_whole(
      file,
      safetensors_bytes({{answers_name, {rows, int64_t(columns)}, answers}},
                        {{checksum_key, checksum_of(answers)}}),
      store::outlives::process);
}

} // namespace ballast::data
