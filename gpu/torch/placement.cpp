#include "gpu/torch/placement.hpp"

#include "gpu/torch/factory.hpp"

#include <ATen/Context.h>
#include <ATen/autocast_mode.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

namespace ballast::gpu {
namespace {

constexpr const char* cuda_part = "libtorch_cuda.so";

std::string folder_of_torch() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&at::globalContext), &info) == 0 ||
      !info.dli_fname)
    return {};
  const std::string file = info.dli_fname;
  return file.substr(0, file.rfind('/') + 1);
}

/// cuDNN opens these by name alone, and knows nothing of the wheel's folder:
/// what is open already is found. Where they are elsewhere, it looks itself.
void open_runtime_compiler(const std::string& folder) {
  for (const char* name :
       {"libnvrtc-builtins.so.13.0", "libnvrtc.so.13", "libnvJitLink.so.13"})
    (void)dlopen((folder + "../../nvidia/cu13/lib/" + name).c_str(),
                 RTLD_NOW | RTLD_LOCAL);
}

/// Its own libraries are found by the paths compiled into the wheel.
failure open_cuda_part() {
  const std::string folder = folder_of_torch();
  open_runtime_compiler(folder);
  const std::string beside = folder + cuda_part;
  if (dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) {
    const char* why = dlerror();
    return {errc::not_in_build,
            "this LibTorch computes on the CPU only: " +
                std::string(why ? why : "its CUDA part cannot be opened") +
                "; BALLAST_TORCH_CUDA=on ./dev setup fetches that part",
            {}};
  }
  try {
    at::globalContext().lazyInitDevice(at::kCUDA);
    if (c10::impl::VirtualGuardImpl(at::kCUDA).deviceCount() > 0)
      return {};
    return {errc::device_failed, "LibTorch finds no GPU", {}};
  } catch (const c10::Error& e) {
    // Its first line names the cause, the others advise.
    const std::string why = e.what_without_backtrace();
    return {errc::device_failed,
            "LibTorch cannot use CUDA: " + why.substr(0, why.find('\n')),
            {}};
  }
}

template <class Value>
at::Tensor over(const model_place& place, const Value* values,
                at::IntArrayRef shape, at::ScalarType type) {
  void* memory = place.reach ? place.reach(values) : const_cast<Value*>(values);
  const at::Device device = device_of(place);
  return at::for_blob(memory, shape)
      .options(at::TensorOptions().dtype(type).device(device))
      .target_device(device)
      .make_tensor();
}

} // namespace

failure load_torch_cuda() {
  static const failure why = open_cuda_part();
  return why;
}

void release_cached_memory() {
  if (auto* of_gpus =
          dynamic_cast<c10::DeviceAllocator*>(c10::GetAllocator(at::kCUDA)))
    if (of_gpus->initialized())
      of_gpus->emptyCache();
}

at::Device device_of(const model_place& place) {
  return place.cuda < 0 ? at::Device(at::kCPU)
                        : at::Device(at::kCUDA, at::DeviceIndex(place.cuda));
}

at::Tensor tensor_at(const model_place& place, const float* values,
                     at::IntArrayRef shape) {
  return over(place, values, shape, at::kFloat);
}

at::Tensor tensor_at(const model_place& place, const int64_t* values,
                     at::IntArrayRef shape) {
  return over(place, values, shape, at::kLong);
}

at::Tensor tensor_over(const float* values, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(values), shape,
                       at::TensorOptions().dtype(at::kFloat));
}

at::Tensor features_at(const model_place& place, const batch_view& batch,
                       at::IntArrayRef shape) {
  return tensor_at(
      place, place.elsewhere ? batch.there.features : batch.features, shape);
}

autocast_scope::autocast_scope(const model_place& place, bool on)
    : type_(device_of(place).type()), on_(on) {
  if (!on_)
    return;
  at::autocast::set_autocast_enabled(type_, true);
  at::autocast::set_autocast_dtype(type_, at::kBFloat16);
  at::autocast::increment_nesting();
}

autocast_scope::~autocast_scope() {
  if (!on_)
    return;
  // Cached bfloat16 copies of parameters are valid for this step only.
  if (at::autocast::decrement_nesting() == 0)
    at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(type_, false);
}

} // namespace ballast::gpu

extern "C" __attribute__((visibility("default"))) void
ballast_release_memory() {
  using namespace ballast;
  static_assert(std::is_same_v<decltype(ballast_release_memory),
                               gpu::torch_memory_releaser>);
  gpu::release_cached_memory();
}

extern "C" __attribute__((visibility("default"))) void
ballast_load_torch_cuda(ballast::failure* why) {
  using namespace ballast;
  static_assert(std::is_same_v<decltype(ballast_load_torch_cuda),
                               gpu::torch_cuda_loader>);
  *why = gpu::load_torch_cuda();
}
