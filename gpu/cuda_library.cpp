#include "gpu/cuda_library.hpp"

#include "gpu/cuda/entry_points.hpp"
#include "gpu/own_library.hpp"

namespace ballast::gpu {
namespace {

#ifdef BALLAST_CUDA_BUILT
constexpr bool built = true;
#else
constexpr bool built = false;
#endif

struct cuda_entry_points {
  own_library library;
  cuda_probe* probe = nullptr;
  cuda_try_device* try_device = nullptr;
  nccl_probe* nccl = nullptr;
  nccl_factory* make_nccl = nullptr;
  cuda_device_factory* make_device = nullptr;
};

cuda_entry_points open_door() {
  cuda_entry_points out;
  if (!built)
    return out;
  out.library = open_own_library(cuda_library_name);
  out.probe =
      reinterpret_cast<cuda_probe*>(function_of(out.library, cuda_probe_name));
  out.try_device = reinterpret_cast<cuda_try_device*>(
      function_of(out.library, cuda_try_device_name));
  out.nccl =
      reinterpret_cast<nccl_probe*>(function_of(out.library, nccl_probe_name));
  out.make_nccl = reinterpret_cast<nccl_factory*>(
      function_of(out.library, nccl_factory_name));
  out.make_device = reinterpret_cast<cuda_device_factory*>(
      function_of(out.library, cuda_device_factory_name));
  return out;
}

const cuda_entry_points& entry_points() {
  static const cuda_entry_points opened = open_door();
  return opened;
}

bool complete(const cuda_entry_points& opened) {
  return opened.probe && opened.try_device && opened.nccl && opened.make_nccl &&
         opened.make_device;
}

} // namespace

cuda_report probe_cuda() {
  cuda_report out;
  if (!built)
    return out;
  const cuda_entry_points& opened = entry_points();
  if (complete(opened)) {
    opened.probe(&out);
    return out;
  }
  out.state = opened.library.missing ? cuda_state::library_missing
                                     : cuda_state::library_broken;
  out.detail = opened.library.why_not;
  return out;
}

nccl_report probe_nccl() {
  nccl_report out;
  if (!built) {
    out.why_not = "this build has no CUDA part";
    return out;
  }
  const cuda_entry_points& opened = entry_points();
  if (complete(opened))
    opened.nccl(&out);
  else
    out.why_not = opened.library.why_not;
  return out;
}

failure try_cuda_device(int index) {
  failure why = why_not_device(probe_cuda(), index);
  if (!why)
    entry_points().try_device(index, &why);
  return why;
}

std::unique_ptr<compute_device> open_cuda_device(int index) {
  failure why = why_not_device(probe_cuda(), index);
  std::unique_ptr<compute_device> out;
  if (!why)
    out.reset(entry_points().make_device(index, &why));
  if (!out)
    throw ballast_error(why);
  return out;
}

std::unique_ptr<collectives::collective_backend> open_nccl_backend(int device) {
  failure why = why_not_device(probe_cuda(), device);
  std::unique_ptr<collectives::collective_backend> out;
  if (!why)
    out.reset(entry_points().make_nccl(device, &why));
  if (!out)
    throw collectives::collective_error(
        collectives::collective_errc::unsupported,
        "no collective backend 'nccl' here: " + why.message);
  return out;
}

} // namespace ballast::gpu
