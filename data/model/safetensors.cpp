#include "data/model/safetensors.hpp"

#include "data/model/number_type.hpp"
#include "data/model/sha256.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

namespace ballast::data {
namespace {

static_assert(std::endian::native == std::endian::little,
              "values are written as they lie in memory");

constexpr size_t dimensions_max = 64;

std::vector<tensor_view> by_name(std::vector<tensor_view> tensors) {
  std::sort(tensors.begin(), tensors.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  return tensors;
}

/// Product of the dimensions; false if that is not a possible size.
bool element_count(const std::vector<int64_t>& shape, uint64_t& out) {
  out = 1;
  for (int64_t dimension : shape) {
    if (dimension < 0)
      return false;
    if (__builtin_mul_overflow(out, uint64_t(dimension), &out))
      return false;
  }
  return out <= std::numeric_limits<uint64_t>::max() / sizeof(double);
}

std::string header_text(const std::vector<tensor_view>& tensors,
                        const std::map<std::string, std::string>& metadata,
                        const std::string& path) {
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty())
    header["__metadata__"] = metadata;
  uint64_t offset = 0;
  for (const tensor_view& tensor : tensors) {
    uint64_t count = 0;
    if (!element_count(tensor.shape, count) || count != tensor.values.size())
      throw ballast_error(errc::internal,
                          path + ": tensor '" + tensor.name + "' has " +
                              std::to_string(tensor.values.size()) +
                              " values, which do not fill its shape");
    if (header.contains(tensor.name) || tensor.name == "__metadata__")
      throw ballast_error(errc::internal, path + ": tensor name '" +
                                              tensor.name + "' is taken");
    uint64_t end = offset + tensor.values.size_bytes();
    header[tensor.name] = {{"dtype", "F32"},
                           {"shape", tensor.shape},
                           {"data_offsets", {offset, end}}};
    offset = end;
  }
  std::string text = json_text(header);
  text.resize((text.size() + 7) / 8 * 8, ' '); // values start at 8 n
  return text;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw ballast_error(errc::invalid_data,
                      path + ": no valid safetensors file: " + why);
}

struct entry {
  std::string name;
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
  const number_type* type = nullptr;
  uint64_t count = 0;
};

entry parse_entry(const std::string& path, const std::string& name,
                  const nlohmann::json& in) {
  const std::string tensor = "tensor '" + name + "'";
  entry out{name, {}, 0, 0};
  std::string type;
  try {
    type = in.at("dtype").get<std::string>();
    if (in.at("shape").size() > dimensions_max)
      refuse(path, tensor + " has too many dimensions");
    for (const nlohmann::json& dimension : in.at("shape")) {
      if (!dimension.is_number_integer())
        refuse(path, tensor + " has a shape that is no list of integers");
      out.shape.push_back(dimension.get<int64_t>());
    }
    const nlohmann::json& offsets = in.at("data_offsets");
    if (!offsets.is_array() || offsets.size() != 2 ||
        !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
      refuse(path, tensor + " has no two data_offsets");
    out.begin = offsets[0].get<uint64_t>();
    out.end = offsets[1].get<uint64_t>();
  } catch (const nlohmann::json::exception& e) {
    refuse(path, tensor + ": " + e.what());
  }
  out.type = find_number_type(type);
  if (!out.type)
    throw ballast_error(errc::invalid_data,
                        path + ": " + tensor + " has type " + type +
                            "; expected F32, F16, BF16, F64 or an integer");
  if (!element_count(out.shape, out.count) || out.end < out.begin ||
      out.end - out.begin != out.count * out.type->bytes)
    refuse(path, tensor + ": shape and data_offsets disagree");
  return out;
}

std::vector<entry> parse_header(const std::string& path,
                                const std::string& text,
                                std::map<std::string, std::string>& metadata) {
  nlohmann::json header = nlohmann::json::parse(text, nullptr, false);
  if (!header.is_object())
    refuse(path, "its header is no JSON object");
  std::vector<entry> entries;
  for (const auto& [name, in] : header.items()) {
    if (name != "__metadata__") {
      entries.push_back(parse_entry(path, name, in));
      continue;
    }
    if (!in.is_object())
      refuse(path, "__metadata__ is no object");
    for (const auto& [key, text_value] : in.items()) {
      if (!text_value.is_string())
        refuse(path, "__metadata__ '" + key + "' is no text");
      metadata[key] = text_value.get<std::string>();
    }
  }
  std::stable_sort(
      entries.begin(), entries.end(), [](const entry& a, const entry& b) {
        return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
      });
  uint64_t offset = 0;
  for (const entry& e : entries) {
    if (e.begin != offset)
      refuse(path, "tensor '" + e.name + "' leaves a gap or overlaps");
    offset = e.end;
  }
  return entries;
}

} // namespace

const tensor_view* tensor_file::find(const std::string& name) const {
  auto at = std::find_if(tensors.begin(), tensors.end(),
                         [&](const auto& t) { return t.name == name; });
  return at == tensors.end() ? nullptr : &*at;
}

uint64_t safetensors_image::bytes() const {
  uint64_t out = header.size();
  for (const tensor_view& tensor : tensors)
    out += tensor.values.size_bytes();
  return out;
}

void safetensors_image::visit(
    uint64_t at, uint64_t count,
    const std::function<void(std::string_view)>& use) const {
  const auto take = [&](std::string_view piece) {
    if (at >= piece.size()) {
      at -= piece.size();
      return;
    }
    piece = piece.substr(at, count);
    use(piece);
    count -= piece.size();
    at = 0;
  };
  take(header);
  for (const tensor_view& tensor : tensors) {
    if (count == 0)
      return;
    take({reinterpret_cast<const char*>(tensor.values.data()),
          tensor.values.size_bytes()});
  }
}

void safetensors_image::copy(uint64_t at, std::span<char> to) const {
  visit(at, to.size(), [&](std::string_view piece) {
    std::memcpy(to.data(), piece.data(), piece.size());
    to = to.subspan(piece.size());
  });
}

safetensors_image image_of(const std::vector<tensor_view>& tensors,
                           const std::map<std::string, std::string>& metadata) {
  safetensors_image out{{}, by_name(tensors)};
  const std::string header = header_text(out.tensors, metadata, "model");
  const uint64_t header_bytes = header.size();
  out.header.assign(reinterpret_cast<const char*>(&header_bytes),
                    sizeof header_bytes);
  out.header += header;
  return out;
}

std::string
safetensors_bytes(const std::vector<tensor_view>& tensors,
                  const std::map<std::string, std::string>& metadata) {
  const safetensors_image image = image_of(tensors, metadata);
  std::string out(image.bytes(), '\0');
  image.copy(0, out);
  return out;
}

std::vector<tensor_place>
tensor_places(const std::string& header, const std::string& name,
              std::map<std::string, std::string>& metadata) {
  std::vector<tensor_place> out;
  for (const entry& one : parse_header(name, header, metadata))
    out.push_back({one.name, one.begin, one.end,
                   one.type == find_number_type("F32"), one.shape, one.type});
  return out;
}

tensor_file parse_safetensors(std::string_view bytes, const std::string& name) {
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof header_bytes)
    refuse(name, "it is shorter than 8 bytes");
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  if (header_bytes > safetensors_header_max ||
      header_bytes > bytes.size() - sizeof header_bytes)
    refuse(name, "its header claims " + std::to_string(header_bytes) +
                     " bytes, the file has " + std::to_string(bytes.size()));
  std::string text(bytes.substr(sizeof header_bytes, header_bytes));

  tensor_file out;
  const std::vector<entry> entries = parse_header(name, text, out.metadata);
  const uint64_t end = entries.empty() ? 0 : entries.back().end;
  std::string_view data = bytes.substr(sizeof header_bytes + header_bytes);
  if (end != data.size())
    refuse(name, "its tensors take " + std::to_string(end) +
                     " bytes, the file has " + std::to_string(data.size()));
  uint64_t count = 0;
  for (const entry& e : entries)
    count += e.count;
  out.values.resize(count);
  std::span<float> rest(out.values);
  for (const entry& e : entries) {
    const std::span<float> here = rest.first(e.count);
    if (!e.type->to_float32(data.data() + e.begin, here))
      throw ballast_error(errc::invalid_data,
                          name + ": tensor '" + e.name + "' has a number of " +
                              std::string(e.type->name) +
                              " that is beyond the range of float32");
    if (e.type->integer)
      out.integers.insert(e.name);
    out.tensors.push_back({e.name, e.shape, here});
    rest = rest.subspan(e.count);
  }
  return out;
}

tensor_file read_safetensors(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) // a folder has no size
    throw ballast_error(errc::invalid_data,
                        path + " is a folder, expected a file");
  errno = 0;
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  std::string bytes(in ? size_t(in.tellg()) : 0, '\0');
  if (!in || !in.seekg(0) ||
      !in.read(bytes.data(), std::streamsize(bytes.size())))
    throw ballast_error(errc::invalid_data,
                        path + ": cannot be read: " + std::strerror(errno));
  return parse_safetensors(bytes, path);
}

std::string weights_sha256(const std::vector<tensor_view>& tensors) {
  sha256 hash;
  for (const tensor_view& tensor : by_name(tensors))
    hash.update(std::as_bytes(tensor.values));
  return hash.hex_digest();
}

} // namespace ballast::data
