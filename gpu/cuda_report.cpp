#include "gpu/cuda_report.hpp"

#include <algorithm>
#include <charconv>

namespace ballast::gpu {
namespace {

/// The first NCCL that supports shrinking, revoking and aborting as a group.
constexpr int nccl_version_min = 22807;

std::string capability(const cuda_device& device) {
  return std::to_string(device.major) + "." + std::to_string(device.minor);
}

bool compiled_for(const cuda_device& device) {
  return 10 * device.major + device.minor >= compute_capability_min;
}

std::string why_not(const cuda_device& device) {
  const std::string name =
      "cuda:" + std::to_string(device.index) + " (" + device.name + ")";
  if (!compiled_for(device))
    return name + " has compute capability " + capability(device) +
           ", this build needs 8.0 or more";
  if (device.prohibited)
    return name + " is closed to all programs (compute mode Prohibited); "
                  "open it with nvidia-smi --compute-mode=0";
  return {};
}

} // namespace

std::string cuda_version_text(int version) {
  return std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

std::string nccl_version_text(int version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

std::string why_no_gpu(const cuda_report& report) {
  const std::string in_brackets =
      report.detail.empty() ? "" : " (" + report.detail + ")";
  switch (report.state) {
  case cuda_state::not_built:
    return "this build has no CUDA part";
  case cuda_state::library_missing:
    return "the CUDA part is missing" + in_brackets;
  case cuda_state::library_broken:
    return "the CUDA part cannot be used" + in_brackets;
  case cuda_state::no_driver:
    return "no NVIDIA driver (libcuda.so.1 is not there)";
  case cuda_state::driver_too_old:
    return "the NVIDIA driver knows CUDA " +
           cuda_version_text(report.driver_version) +
           " at most, this build needs " +
           cuda_version_text(report.runtime_version);
  case cuda_state::no_device:
    return "the NVIDIA driver finds no GPU" + in_brackets;
  case cuda_state::failed:
    return "the NVIDIA driver refuses" + in_brackets;
  case cuda_state::usable:
    break;
  }
  std::string reasons;
  for (const cuda_device& device : report.devices) {
    const std::string reason = why_not(device);
    if (reason.empty())
      return {};
    reasons += (reasons.empty() ? "" : "; ") + reason;
  }
  return reasons.empty() ? "the NVIDIA driver finds no GPU" : reasons;
}

std::string how_to_get_gpu(const cuda_report& report) {
  switch (report.state) {
  case cuda_state::not_built:
    return "install the CUDA 13 toolkit and NCCL and build again, or "
           "BALLAST_CUDA=on ./dev build, which fetches both";
  case cuda_state::library_missing:
  case cuda_state::library_broken:
    return "./dev build";
  case cuda_state::no_driver:
    return "install the NVIDIA driver";
  case cuda_state::driver_too_old:
    return "install an NVIDIA driver for CUDA " +
           cuda_version_text(report.runtime_version);
  case cuda_state::no_device:
    return "look at nvidia-smi, CUDA_VISIBLE_DEVICES, and the devices that "
           "the container was given";
  case cuda_state::failed:
    return "look at nvidia-smi and at the kernel's log";
  case cuda_state::usable:
    break;
  }
  return {};
}

failure why_not_device(const cuda_report& report, int index) {
  if (report.state != cuda_state::usable)
    return {errc::device_failed, why_no_gpu(report), {}};
  auto found = std::find_if(
      report.devices.begin(), report.devices.end(),
      [index](const cuda_device& device) { return device.index == index; });
  if (found == report.devices.end())
    return {errc::device_failed,
            "there is no cuda:" + std::to_string(index) +
                ", this machine has " + std::to_string(report.devices.size()) +
                (report.devices.size() == 1 ? " GPU" : " GPUs") +
                ", counted from 0",
            {}};
  const std::string reason = why_not(*found);
  if (!reason.empty())
    return {errc::device_failed, reason, {}};
  return {};
}

std::string nccl_trouble(const nccl_report& report) {
  if (report.running_version == 0)
    return "not found: " + report.why_not +
           "; GPUs cannot reduce among each other without it";
  const std::string running = nccl_version_text(report.running_version);
  if (report.running_version < nccl_version_min)
    return running + " is too old: 2.28.7 or later is needed";
  if (report.running_version != report.compiled_version)
    return running + " is loaded, Ballast was compiled against " +
           nccl_version_text(report.compiled_version) +
           "; all nodes need the same version";
  return {};
}

std::optional<int> cuda_index(const std::string& device) {
  constexpr std::string_view prefix = "cuda:";
  constexpr int index_max = 1023;
  if (!device.starts_with(prefix))
    return std::nullopt;
  int index = 0;
  const char* begin = device.data() + prefix.size();
  const char* end = device.data() + device.size();
  auto [stopped, error] = std::from_chars(begin, end, index);
  if (error != std::errc() || stopped != end || index < 0 || index > index_max)
    return std::nullopt;
  return index;
}

} // namespace ballast::gpu
