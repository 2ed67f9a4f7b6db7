#include "data/model/parameters_digest.hpp"

#include "data/model/checkpoint_store.hpp"
#include "data/model/sha256.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"
#include "store/json_file.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <vector>

namespace ballast::data {

namespace {

using nlohmann::json;

/// The names that no parameters are under.
std::set<std::string> buffers_in(const weights_file& file) {
  const auto found = file.metadata().find("buffers");
  std::set<std::string> out;
  if (found == file.metadata().end())
    return out;
  const json names = json::parse(found->second, nullptr, false);
  if (names.is_array())
    for (const json& one : names)
      if (one.is_string())
        out.insert(one.get<std::string>());
  return out;
}

} // namespace

std::string parameters_sha256(const weights_file& file,
                              const look_at_values& also) {
  const std::set<std::string> buffers = buffers_in(file);
  std::vector<const tensor_place*> parameters;
  for (const tensor_place& one : file.tensors())
    if (!is_beside_model(one.name) && !buffers.contains(one.name))
      parameters.push_back(&one);
  std::ranges::sort(parameters, {}, &tensor_place::name);
  sha256 hash;
  std::vector<float> values;
  for (const tensor_place* one : parameters) {
    uint64_t count = 1;
    for (const int64_t dimension : one->shape)
      count *= uint64_t(dimension);
    values.resize(count);
    file.read({{one, values}}, 1);
    hash.update(std::as_bytes(std::span(values)));
    if (also)
      also(*one, values);
  }
  return hash.hex_digest();
}

std::optional<std::string>
told_parameters_sha256(const std::filesystem::path& folder) {
  for (const char* name : {"report.json", "card.json"}) {
    const json about = store::read_json_file(folder / name);
    if (!about.is_object())
      continue;
    const auto told = about.find("weights_sha256");
    if (told != about.end() && told->is_string())
      return told->get<std::string>();
  }
  return std::nullopt;
}

void check_parameters(const std::filesystem::path& folder) {
  const std::optional<std::string> told = told_parameters_sha256(folder);
  const std::filesystem::path model = folder / "model.safetensors";
  if (told && parameters_sha256(weights_file(model.string())) != *told)
    throw ballast_error(errc::invalid_data,
                        printable(model.string()) +
                            " holds other parameters than the run ended with: "
                            "the weights_sha256 beside it is " +
                            *told + "; expected a whole copy");
}

} // namespace ballast::data
