#include "data/copies/copy_manifest.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace ballast::data {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view step_prefix = "step-";
constexpr size_t files_max = 100'000; // of a copy

/// Whoever can write there could name any file of this machine.
bool is_plain_name(const std::string& name) {
  if (name.empty() || name.size() > 512)
    return false;
  for (const fs::path& part : fs::path(name))
    if (part == ".." || part == "." || part.empty() || part == "/")
      return false;
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '/' || c == '.' || c == '-' || c == '_';
  });
}

std::vector<copied_file> files_in(const nlohmann::json& manifest) {
  std::vector<copied_file> out;
  const nlohmann::json& list = manifest.at("files");
  if (!list.is_array() || list.size() > files_max)
    throw ballast_error(errc::invalid_data, "it names no files");
  for (const nlohmann::json& one : list) {
    out.push_back({one.at("name").get<std::string>(),
                   one.at("bytes").get<uint64_t>(),
                   one.at("xxh64").get<std::string>()});
    if (!is_plain_name(out.back().name))
      throw ballast_error(errc::invalid_data,
                          "it names a file '" + printable(out.back().name, 60) +
                              "', which is no name of a copy's file");
  }
  return out;
}

} // namespace

void read_copy(const std::string& text, found_copy& out) {
  const nlohmann::json manifest = nlohmann::json::parse(text, nullptr, false);
  try {
    if (!manifest.is_object())
      throw ballast_error(errc::invalid_data, "it is no JSON object");
    const auto step = manifest.at("step").get<uint64_t>();
    if (step != value(out.step))
      throw ballast_error(errc::invalid_data,
                          "it is of step " + std::to_string(step));
    out.run = manifest.at("run").get<std::string>();
    out.identity = manifest.at("identity").get<std::string>();
    out.files = files_in(manifest);
  } catch (const std::exception& e) {
    out.problem = std::string("its manifest.json is damaged: ") + e.what();
  }
}

step_number step_of_copy(std::string_view folder) {
  if (!folder.starts_with(step_prefix))
    return {};
  const std::string digits(folder.substr(step_prefix.size()));
  if (digits.empty() || digits.size() > 18 || digits.front() == '0' ||
      digits.find_first_not_of("0123456789") != std::string::npos)
    return {};
  return step_number{std::stoull(digits)};
}

} // namespace ballast::data
