#include "gpu/initial_parameters.hpp"

#include "data/safetensors.hpp"
#include "runtime/errors.hpp"

#include <algorithm>

namespace ballast {
namespace {

constexpr const char* init_pointer = "/model/init";

void copy_tensor(const tensor_file& file, const std::string& path,
                 const std::string& name, const std::vector<int64_t>& shape,
                 std::span<float> out) {
  const tensor_view* found = file.find(name);
  if (!found)
    throw ballast_error(errc::invalid_job,
                        path + ": has no tensor '" + name +
                            "'; expected one of shape " + to_string(shape),
                        init_pointer);
  if (found->shape != shape)
    throw ballast_error(errc::invalid_job,
                        path + ": tensor '" + name + "' has shape " +
                            to_string(found->shape) + "; the model has " +
                            to_string(shape),
                        init_pointer);
  std::copy(found->values.begin(), found->values.end(), out.begin());
}

} // namespace

std::string to_string(const std::vector<int64_t>& shape) {
  std::string out = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    out += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return out + "]";
}

std::vector<parameter_info> lay_out(
    const std::vector<std::pair<std::string, std::vector<int64_t>>>& shapes) {
  std::vector<parameter_info> out;
  size_t offset = 0;
  for (const auto& [name, shape] : shapes) {
    size_t count = 1;
    for (int64_t dimension : shape)
      count *= size_t(dimension);
    out.push_back({name, shape, offset, count});
    offset += count;
  }
  return out;
}

bool initialize_as_asked(const model_spec& spec,
                         const std::vector<parameter_info>& parameters,
                         std::span<float> arena,
                         const std::vector<model::buffer>& buffers) {
  if (spec.init == "default")
    return false;
  if (spec.init == "zeros") {
    std::fill(arena.begin(), arena.end(), 0.0F);
    return true;
  }
  tensor_file file;
  try {
    file = read_safetensors(spec.init);
  } catch (const ballast_error& e) {
    throw ballast_error(errc::invalid_job, e.what(), init_pointer);
  }
  for (const parameter_info& p : parameters)
    copy_tensor(file, spec.init, p.name, p.shape,
                arena.subspan(p.offset, p.count));
  for (const model::buffer& b : buffers)
    copy_tensor(file, spec.init, b.name, b.shape, b.values);
  for (const tensor_view& t : file.tensors) {
    auto same = [&](const auto& known) { return known.name == t.name; };
    if (std::none_of(parameters.begin(), parameters.end(), same) &&
        std::none_of(buffers.begin(), buffers.end(), same))
      throw ballast_error(errc::invalid_job,
                          spec.init + ": tensor '" + t.name +
                              "' is no parameter of this model",
                          init_pointer);
  }
  return true;
}

} // namespace ballast
