#include "actors/served_checkpoint.hpp"

#include "actors/blob_pieces.hpp"
#include "data/model/state_blocks.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

namespace ballast::actors {

namespace {

std::string about_file(const std::string& file) {
  nlohmann::json out;
  out["file"] = std::filesystem::absolute(file).string();
  try {
    const data::state_checksums expected = data::checksums_beside(file);
    (void)data::header_bytes(*data::file_blocks(file, expected.bytes),
                             expected.bytes, "its state");
    out["checksums"] = data::as_json(expected);
  } catch (const ballast_error& e) {
    out["problem"] = e.what();
  }
  return json_text(out);
}

uint64_t bytes_of_file(const std::string& file) {
  std::error_code none;
  const auto out = std::filesystem::file_size(file, none);
  return none ? 0 : uint64_t(out);
}

std::string part_from(const std::string& file, uint64_t at) {
  const uint64_t size = bytes_of_file(file);
  std::string out(std::min(checkpoint_part_bytes, size - std::min(at, size)),
                  '\0');
  const std::span<char> to(out);
  if (!out.empty())
    data::file_blocks(file, size)->read(at, std::span(&to, 1));
  return out;
}

} // namespace

checkpoint_about read_checkpoint_about(const std::string& text) {
  const nlohmann::json told = nlohmann::json::parse(text, nullptr, false);
  checkpoint_about out;
  std::string why = "is no JSON";
  if (told.is_object() && told.value("file", nlohmann::json()).is_string()) {
    out.file = told["file"].get<std::string>();
    if (told.contains("problem") && told["problem"].is_string()) {
      out.problem = told["problem"].get<std::string>();
      return out;
    }
    if (auto found = data::checksums_in(told.value("checksums", told), why)) {
      out.expected = std::move(*found);
      return out;
    }
  }
  throw ballast_error(errc::invalid_data,
                      "what the coordinator says of the checkpoint " + why);
}

void served_checkpoint::serve(const std::string& file) {
  const std::lock_guard lock(mutex_);
  file_ = file;
}

std::optional<std::string>
served_checkpoint::blob(const std::string& name) const {
  std::string file;
  {
    const std::lock_guard lock(mutex_);
    file = file_;
  }
  if (file.empty())
    return std::nullopt;
  if (name == checkpoint_about_blob)
    return about_file(file);
  if (name == checkpoint_header_blob) {
    const uint64_t size = bytes_of_file(file);
    return data::header_bytes(*data::file_blocks(file, size), size, file);
  }
  std::string blob;
  uint64_t at = 0;
  if (read_piece_name(name, blob, at) && blob == checkpoint_part_blob)
    return part_from(file, at);
  return std::nullopt;
}

} // namespace ballast::actors
