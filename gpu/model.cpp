#include "gpu/model.hpp"

#include "gpu/emulated_model.hpp"
#include "gpu/own_library.hpp"
#include "gpu/torch/factory.hpp"
#include "gpu/torch_library.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/job/asked_metrics.hpp"

#include <utility>

namespace ballast::gpu {
namespace {

/// The functions of libballast_torch.so, loaded once and kept.
struct torch_library {
  own_library opened;
  torch_factory* make = nullptr;
  torch_cuda_loader* load_cuda = nullptr;
  torch_memory_releaser* release_memory = nullptr;
};

torch_library load_torch() {
  torch_library out;
  out.opened = open_own_library(torch_library_name);
  out.make = reinterpret_cast<torch_factory*>(
      function_of(out.opened, torch_factory_name));
  out.load_cuda = reinterpret_cast<torch_cuda_loader*>(
      function_of(out.opened, torch_cuda_loader_name));
  out.release_memory = reinterpret_cast<torch_memory_releaser*>(
      function_of(out.opened, torch_memory_releaser_name));
  return out;
}

const torch_library& loaded_torch() {
  static const torch_library library = load_torch();
  return library;
}

/// A worker tells the text alone.
failure with_pointer_told(failure why) {
  if (!why.pointer.empty() && !why.message.starts_with(why.pointer))
    why.message = why.pointer + ": " + why.message;
  return why;
}

std::unique_ptr<model> make_torch_model(const model_request& request) {
  const torch_library& library = loaded_torch();
  if (!library.make)
    throw ballast_error(
        errc::not_in_build,
        "model '" + to_string(request.what->model.kind) +
            "' needs LibTorch: " + library.opened.why_not +
            "; run ./dev setup, then build with BALLAST_TORCH=ON",
        "/model/kind");
  failure why;
  std::unique_ptr<model> made(library.make(&request, &why));
  if (!made)
    throw ballast_error(with_pointer_told(std::move(why)));
  return made;
}

/// It measures the runtime: on the CPU, in float32.
std::unique_ptr<model> make_emulated_model(const model_request& request) {
  if (request.place.cuda >= 0)
    throw ballast_error(
        errc::invalid_job,
        "the model 'emulated' measures the runtime and computes "
        "on the CPU; start its workers with --device cpu",
        "/model/kind");
  if (request.what->train.precision != compute_precision::float32)
    throw ballast_error(errc::invalid_job,
                        "the model 'emulated' computes in float32",
                        "/train/precision");
  return std::make_unique<emulated_model>(request.what->model,
                                          request.what->init);
}

/// Without hidden layers, whose gradients would be 0 if all parameters were.
bool learns_from_zeros(model_kind kind) {
  switch (kind) {
  case model_kind::linear:
  case model_kind::logistic:
  case model_kind::emulated:
    return true;
  case model_kind::mlp:
  case model_kind::cnn:
  case model_kind::resnet18:
  case model_kind::transformer:
  case model_kind::torchscript:
    return false;
  }
  return false;
}

} // namespace

std::unique_ptr<model> make_model(const model_request& request) {
  const model_spec& spec = request.what->model;
  if (parse_word<model_init>(spec.init) == model_init::zeros &&
      !learns_from_zeros(spec.kind))
    throw ballast_error(errc::invalid_job,
                        "init \"zeros\" leaves a '" + to_string(spec.kind) +
                            "' without gradients; linear, logistic and "
                            "emulated take it",
                        "/model/init");
  if (const failure why = metrics_misfit(*request.what, request.row.classes))
    throw ballast_error(why);
  if (spec.kind == model_kind::emulated)
    return make_emulated_model(request);
  return make_torch_model(request);
}

void preload_torch() {
  (void)loaded_torch();
}

void release_torch_memory() {
  if (loaded_torch().release_memory)
    loaded_torch().release_memory();
}

failure torch_on_cuda() {
  const torch_library& library = loaded_torch();
  if (!library.load_cuda)
    return {errc::not_in_build,
            "models need LibTorch: " + library.opened.why_not,
            {}};
  failure why;
  library.load_cuda(&why);
  return why;
}

} // namespace ballast::gpu
