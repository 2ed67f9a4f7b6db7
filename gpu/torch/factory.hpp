/// The exported functions of libballast_torch.so, as both sides see them.
/// Exceptions do not cross this boundary: a refusal is returned in `why`. The
/// models' own methods throw ballast_error, which does cross (both sides know
/// its type by name).
#pragma once

#include "gpu/model.hpp"
#include "runtime/base/errors.hpp"

namespace ballast::gpu {

constexpr const char* torch_library_name = "libballast_torch.so";
constexpr const char* torch_factory_name = "ballast_make_torch_model";

/// Null and `*why` set if there is no such model. The caller owns it.
using torch_factory = model*(const model_request* request, failure* why);

/// Loads LibTorch's CUDA part; `*why` set if that fails.
using torch_cuda_loader = void(failure* why);
constexpr const char* torch_cuda_loader_name = "ballast_load_torch_cuda";

using torch_memory_releaser = void();
constexpr const char* torch_memory_releaser_name = "ballast_release_memory";

} // namespace ballast::gpu
