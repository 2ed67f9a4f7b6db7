#include "actors/served_parent.hpp"

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

uint64_t size_of_parent(const std::string& file) {
  std::error_code problem;
  const auto out = std::filesystem::file_size(file, problem);
  if (problem)
    throw ballast_error(errc::invalid_data,
                        file + ", with which the run begins, cannot be read: " +
                            problem.message());
  return uint64_t(out);
}

} // namespace

parent_about read_parent_about(const std::string& text) {
  const nlohmann::json told = nlohmann::json::parse(text, nullptr, false);
  try {
    return {told.at("file").get<std::string>(),
            told.at("bytes").get<uint64_t>(),
            told.at("optimizer_steps").get<uint64_t>()};
  } catch (const nlohmann::json::exception& e) {
    throw ballast_error(errc::invalid_data,
                        "what the coordinator says of the parameters to begin "
                        "with is damaged: " +
                            std::string(e.what()));
  }
}

std::optional<std::string> blob_of(const parent_weights& of,
                                   const std::string& name) {
  if (of.file.empty())
    return std::nullopt;
  if (name == parent_about_blob)
    return json_text(nlohmann::json{{"file", of.file},
                                    {"bytes", size_of_parent(of.file)},
                                    {"optimizer_steps", of.optimizer_steps}});
  if (name == parent_header_blob) {
    const uint64_t size = size_of_parent(of.file);
    return data::header_bytes(*data::file_blocks(of.file, size), size, of.file);
  }
  std::string blob;
  uint64_t at = 0;
  if (!read_piece_name(name, blob, at) || blob != parent_part_blob)
    return std::nullopt;
  const uint64_t size = size_of_parent(of.file);
  std::string out(std::min(parent_part_bytes, size - std::min(at, size)), '\0');
  const std::span<char> to(out);
  if (!out.empty())
    data::file_blocks(of.file, size)->read(at, std::span(&to, 1));
  return out;
}

} // namespace ballast::actors
