#include "gpu/torch/script_file.hpp"

#include "runtime/base/errors.hpp"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/enum_tag.h>
#include <algorithm>
#include <caffe2/serialize/inline_container.h>
#include <fstream>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/passes/inliner.h>

namespace ballast::gpu {

void refuse_script(const std::string& path, const std::string& why) {
  throw ballast_error(errc::invalid_job, path + ": " + why, "/model/path");
}

namespace {

/// torch.save writes values, as a zip file without code or, before 1.6, as a
/// plain pickle.
bool is_torch_save(const std::string& path) {
  char begin[2] = {};
  std::ifstream(path, std::ios::binary).read(begin, sizeof begin);
  if (begin[0] == '\x80') // a pickle's first byte
    return true;
  try {
    caffe2::serialize::PyTorchStreamReader zip(path);
    return zip.hasRecord("data.pkl") && !zip.hasRecord("constants.pkl");
  } catch (const std::exception&) {
    return false;
  }
}

torch::jit::Module read(const std::string& path, at::Device device) {
  try {
    return torch::jit::load(path, device);
  } catch (const std::exception& e) {
    if (is_torch_save(path))
      refuse_script(path,
                    "this is a file of torch.save, which holds values and no "
                    "code; save the model by "
                    "torch.jit.save(torch.jit.script(model), path). For its "
                    "values alone write a .safetensors file and give that as "
                    "model.init");
    const auto* error = dynamic_cast<const c10::Error*>(&e);
    refuse_script(path,
                  std::string("cannot be loaded as TorchScript: ") +
                      (error ? error->what_without_backtrace() : e.what()));
  }
}

/// Makes the module use `value` under this name.
void use(torch::jit::Module module, const std::string& name,
         const at::Tensor& value) {
  size_t begin = 0;
  for (size_t dot; (dot = name.find('.', begin)) != std::string::npos;
       begin = dot + 1)
    module = module.attr(name.substr(begin, dot - begin)).toModule();
  module.setattr(name.substr(begin), value);
}

bool same_memory(const at::Tensor& a, const at::Tensor& b) {
  return a.numel() > 0 && b.numel() > 0 && a.storage().is_alias_of(b.storage());
}

bool equal_views(const at::Tensor& a, const at::Tensor& b) {
  return a.storage_offset() == b.storage_offset() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

void add_parameter(script_file& out, const std::string& path,
                   const std::string& name, const at::Tensor& value) {
  if (value.scalar_type() != at::kFloat)
    refuse_script(path, "parameter '" + name + "' is " +
                            std::string(c10::toString(value.scalar_type())) +
                            "; expected float32");
  for (size_t i = 0; i < out.trained.size(); ++i) {
    const script_tensor& other = out.trained[i];
    if (!same_memory(value, other.value))
      continue;
    if (!equal_views(value, other.value))
      refuse_script(path, "parameters '" + other.name + "' and '" + name +
                              "' share a part of their memory; tied "
                              "parameters must be equal as a whole");
    use(out.module, name, other.value);
    out.aliases.push_back({name, i});
    return;
  }
  out.trained.push_back({name, value});
}

bool takes_tensors(const c10::FunctionSchema& schema) {
  return std::ranges::any_of(schema.arguments(), [](const c10::Argument& one) {
    return one.type()->isSubtypeOf(*c10::TensorType::get());
  });
}

bool node_draws(const torch::jit::Node& node);

bool block_draws(const torch::jit::Block& block) {
  for (const torch::jit::Node* one : block.nodes())
    if (node_draws(*one))
      return true;
  return false;
}

bool node_draws(const torch::jit::Node& node) {
  if (std::ranges::any_of(node.blocks(), [](const torch::jit::Block* one) {
        return block_draws(*one);
      }))
    return true;
  if (node.kind().is_prim()) // what is called by name was not made part of it
    return node.kind() == c10::prim::CallFunction ||
           node.kind() == c10::prim::CallMethod ||
           node.kind() == c10::prim::fork;
  const torch::jit::Operator* known = node.maybeOperator();
  if (!known)
    return true;
  const auto by_dispatcher =
      c10::Dispatcher::singleton().findSchema(known->schema().operator_name());
  // Those that only TorchScript has compute with numbers and lists.
  return by_dispatcher ? by_dispatcher->hasTag(at::Tag::nondeterministic_seeded)
                       : takes_tensors(known->schema());
}

} // namespace

bool may_draw(const torch::jit::Module& module, const std::string& method) {
  const auto graph = module.get_method(method).graph()->copy();
  torch::jit::Inline(*graph);
  return block_draws(*graph->block());
}

script_file load_script(const std::string& path, at::Device device) {
  script_file out;
  out.module = read(path, device);
  // A trainable name decides for all names of the same memory.
  std::vector<script_tensor> still;
  for (const auto& p : out.module.named_parameters())
    if (p.value.requires_grad())
      add_parameter(out, path, p.name, p.value);
    else
      still.push_back({p.name, p.value});
  if (out.trained.empty())
    refuse_script(path, "no parameter of it trains: each has requires_grad = "
                        "False, or torch.jit.freeze made constants of them");
  for (script_tensor& one : still)
    if (std::ranges::any_of(out.trained, [&](const script_tensor& trained) {
          return same_memory(one.value, trained.value);
        }))
      add_parameter(out, path, one.name, one.value);
    else
      out.constants.push_back(std::move(one));
  for (const auto& b : out.module.named_buffers())
    out.constants.push_back({b.name, b.value});
  return out;
}

} // namespace ballast::gpu
