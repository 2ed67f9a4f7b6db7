#include "cli/node/worker_device.hpp"

#include "gpu/cuda_library.hpp"
#include "gpu/nccl_environment.hpp"
#include "gpu/torch_library.hpp"
#include "monitor/logs/log.hpp"
#include "runtime/base/errors.hpp"

#include <cstdlib>
#include <unistd.h>

namespace ballast::cli {
namespace {

/// The reason against any GPU here; empty if there is none.
std::string why_no_training(const gpu::cuda_report& report) {
  if (std::string why = why_no_gpu(report); !why.empty())
    return why;
  if (std::string why = gpu::nccl_environment_refusal(
          [](const char* name) { return std::getenv(name); });
      !why.empty())
    return why;
  return gpu::torch_on_cuda().message;
}

worker_device on_gpu(int index) {
  worker_device out;
  out.device = gpu::open_cuda_device(index);
  out.device->when_full(gpu::release_torch_memory);
  out.name = out.device->name();
  return out;
}

worker_device choose_any() {
  if (!may_have_gpu())
    return {};
  const gpu::cuda_report report = gpu::probe_cuda();
  std::string why = why_no_training(report);
  std::vector<int> gpus;
  for (const gpu::cuda_device& one : report.devices)
    if (why.empty() && !why_not_device(report, one.index))
      gpus.push_back(one.index);
  while (!gpus.empty()) {
    auto seat =
        gpu::device_seat::take(gpu::device_seat::default_folder(), gpus);
    const int index = seat ? seat->gpu() : gpus.front();
    try {
      worker_device out = on_gpu(index);
      out.seat = std::move(seat);
      return out;
    } catch (const ballast_error& e) {
      why = e.what();
      monitor::log().warn("{}", why);
      std::erase(gpus, index);
    }
  }
  monitor::log().warn("trains on the CPU: {}", why);
  return {};
}

} // namespace

bool may_have_gpu() {
  return ::access("/dev/nvidiactl", F_OK) == 0 ||
         ::access("/dev/dxg", F_OK) == 0;
}

worker_device choose_device(const std::string& asked) {
  if (asked == "cpu")
    return {};
  if (asked == "auto")
    return choose_any();
  const std::optional<int> index = gpu::cuda_index(asked);
  if (!index)
    throw ballast_error(
        errc::usage, "--device takes auto, cpu or cuda:N, not '" + asked + "'");
  const gpu::cuda_report report = gpu::probe_cuda();
  std::string why = why_not_device(report, *index).message;
  if (why.empty())
    why = why_no_training(report);
  if (!why.empty())
    throw ballast_error(errc::device_failed, "--device " + asked + ": " + why);
  return on_gpu(*index);
}

} // namespace ballast::cli
