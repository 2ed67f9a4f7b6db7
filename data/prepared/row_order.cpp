#include "data/prepared/row_order.hpp"

#include "data/prepared/prepare_cache.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/json_text.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

namespace ballast::data {

namespace {

constexpr const char* order_name = "order.json";
constexpr const char* tested_name = "tested.rows"; // uint64, as this machine's

nlohmann::json order_in(const std::filesystem::path& folder) {
  std::ifstream in(folder / order_name);
  nlohmann::json out = nlohmann::json::parse(in, nullptr, false);
  return out.is_object() ? out : nlohmann::json::object();
}

std::string text_at(const nlohmann::json& in, const char* key) {
  return in.contains(key) && in[key].is_string() ? in[key].get<std::string>()
                                                 : "";
}

} // namespace

void write_order(const std::filesystem::path& folder, const row_order& order) {
  nlohmann::json out{{"train", order.train}, {"test", order.test}};
  if (order.tested) {
    std::string bytes(order.tested->size() * sizeof(uint64_t), '\0');
    if (!bytes.empty())
      std::memcpy(bytes.data(), order.tested->data(), bytes.size());
    write_small_file(folder / tested_name, bytes);
    out["tested"] = checksum(bytes.data(), bytes.size());
  }
  write_small_file(folder / order_name, json_text(out));
}

std::optional<row_order> read_order(const std::filesystem::path& folder) {
  const nlohmann::json in = order_in(folder);
  row_order out{text_at(in, "train"), text_at(in, "test"), {}};
  if (out.train.empty() || out.test.empty())
    return std::nullopt;
  return out;
}

std::optional<std::vector<uint64_t>>
read_tested(const std::filesystem::path& folder) {
  const std::string expected = text_at(order_in(folder), "tested");
  if (expected.empty())
    return std::nullopt;
  std::ifstream in(folder / tested_name, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  if (checksum(bytes.data(), bytes.size()) != expected)
    throw ballast_error(errc::invalid_data,
                        (folder / tested_name).string() + ": is damaged");
  std::vector<uint64_t> out(bytes.size() / sizeof(uint64_t));
  if (!out.empty())
    std::memcpy(out.data(), bytes.data(), out.size() * sizeof(uint64_t));
  return out;
}

} // namespace ballast::data
