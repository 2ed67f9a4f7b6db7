#include "data/fitting/float64_tensors.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

namespace ballast::data {

namespace {

[[noreturn]] void refuse_tensors(const std::string& name,
                                 const std::string& why) {
  throw ballast_error(errc::invalid_data,
                      name + ": no valid safetensors file of float64: " + why);
}

} // namespace

std::string
float64_bytes(const std::map<std::string, std::span<const double>>& tensors) {
  nlohmann::json header = nlohmann::json::object();
  uint64_t offset = 0;
  for (const auto& [name, values] : tensors) {
    const uint64_t end = offset + values.size_bytes();
    header[name] = {{"dtype", "F64"},
                    {"shape", {values.size()}},
                    {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = json_text(header);
  text.resize((text.size() + 7) / 8 * 8, ' '); // values start at 8 n
  const uint64_t header_bytes = text.size();
  std::string out(reinterpret_cast<const char*>(&header_bytes),
                  sizeof header_bytes);
  out += text;
  for (const auto& [name, values] : tensors)
    out.append(reinterpret_cast<const char*>(values.data()),
               values.size_bytes());
  return out;
}

std::map<std::string, std::vector<double>>
parse_float64(std::string_view bytes, const std::string& name) {
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof header_bytes)
    refuse_tensors(name, "it is shorter than 8 bytes");
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  bytes.remove_prefix(sizeof header_bytes);
  if (header_bytes > bytes.size())
    refuse_tensors(name, "its header claims " + std::to_string(header_bytes) +
                             " bytes, " + std::to_string(bytes.size()) +
                             " are there");
  const nlohmann::json header = nlohmann::json::parse(
      bytes.substr(0, header_bytes), nullptr, /*allow_exceptions=*/false);
  bytes.remove_prefix(header_bytes);
  if (!header.is_object())
    refuse_tensors(name, "its header is no JSON object");
  std::map<std::string, std::vector<double>> out;
  uint64_t covered = 0;
  for (const auto& [tensor, about] : header.items()) {
    try {
      const auto begin = about.at("data_offsets").at(0).get<uint64_t>();
      const auto end = about.at("data_offsets").at(1).get<uint64_t>();
      if (about.at("dtype") != "F64" || end < begin || end > bytes.size() ||
          (end - begin) % sizeof(double) != 0 ||
          about.at("shape") !=
              nlohmann::json::array({(end - begin) / sizeof(double)}))
        refuse_tensors(name, "tensor '" + tensor +
                                 "' is no list of float64 within the file");
      std::vector<double>& values = out[tensor];
      values.resize((end - begin) / sizeof(double));
      if (!values.empty())
        std::memcpy(values.data(), bytes.data() + begin, end - begin);
      covered += end - begin;
    } catch (const nlohmann::json::exception& error) {
      refuse_tensors(name, "tensor '" + tensor + "': " + error.what());
    }
  }
  if (covered != bytes.size())
    refuse_tensors(name, "its tensors take " + std::to_string(covered) +
                             " bytes, " + std::to_string(bytes.size()) +
                             " are there");
  return out;
}

} // namespace ballast::data
