#include "gpu/torch/script_bytes.hpp"

#include <torch/csrc/jit/api/module.h>

#include <map>
#include <sstream>
#include <type_traits>

namespace ballast::gpu {
namespace {

/// "a.b.weight" is the tensor `weight` of the module `b` of `a`.
struct nested {
  std::map<std::string, nested> modules;
  std::map<std::string, const module_tensor*> tensors;
};

nested nest(const std::vector<module_tensor>& all) {
  nested out;
  for (const module_tensor& one : all) {
    nested* at = &out;
    size_t begin = 0;
    for (size_t dot = one.name.find('.'); dot != std::string::npos;
         dot = one.name.find('.', begin)) {
      at = &at->modules[one.name.substr(begin, dot - begin)];
      begin = dot + 1;
    }
    at->tensors[one.name.substr(begin)] = &one;
  }
  return out;
}

at::Tensor tensor_of(const module_tensor& from) {
  // Read only: the file takes its bytes.
  return at::from_blob(const_cast<float*>(from.values.data()), // NOLINT
                       from.shape, at::kFloat)
      .clone()
      .set_requires_grad(!from.buffer);
}

torch::jit::Module module_of(const nested& from, const std::string& name) {
  torch::jit::Module out(c10::QualifiedName("__torch__." + name));
  for (const auto& [own, inside] : from.modules)
    out.register_module(own, module_of(inside, name + "_" + own));
  for (const auto& [own, one] : from.tensors)
    out.register_parameter(own, tensor_of(*one), one->buffer);
  return out;
}

std::string bytes_of(const script_module& what) {
  torch::jit::Module whole = module_of(nest(what.tensors), what.name);
  whole.define(what.source);
  whole.eval();
  std::ostringstream out;
  whole.save(out);
  return std::move(out).str();
}

} // namespace
} // namespace ballast::gpu

extern "C" __attribute__((visibility("default"))) void
ballast_torch_script_bytes(const ballast::gpu::script_module* what,
                           std::string* out, ballast::failure* why) {
  using namespace ballast;
  static_assert(std::is_same_v<decltype(ballast_torch_script_bytes),
                               gpu::script_bytes_maker>);
  try {
    *out = gpu::bytes_of(*what);
  } catch (const c10::Error& e) {
    *why = {errc::internal, e.what_without_backtrace(), {}};
  } catch (const std::exception& e) {
    *why = {errc::internal, e.what(), {}};
  }
}
