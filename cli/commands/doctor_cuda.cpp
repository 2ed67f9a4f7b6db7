/// The GPU checks of `ballast doctor`. They query the driver directly, so that
/// a build without CUDA reports the GPUs that it leaves unused; the CUDA part
/// of this build and NCCL report their own state.
#include "cli/commands/doctor_checks.hpp"
#include "gpu/cuda_library.hpp"
#include "gpu/nccl_environment.hpp"
#include "gpu/torch_library.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <sstream>

namespace ballast::cli {

namespace {

constexpr const char* group = "devices";

/// The driver's functions, loaded by name, so that no CUDA toolkit is needed.
struct cuda_driver {
  int (*version)(int*) = nullptr;
  int (*init)(unsigned) = nullptr;
  int (*device_count)(int*) = nullptr;
  int (*device)(int*, int) = nullptr;
  int (*device_name)(char*, int, int) = nullptr;

  explicit cuda_driver(void* library) {
    find(library, "cuDriverGetVersion", version);
    find(library, "cuInit", init);
    find(library, "cuDeviceGetCount", device_count);
    find(library, "cuDeviceGet", device);
    find(library, "cuDeviceGetName", device_name);
  }
  bool complete() const {
    return version && init && device_count && device && device_name;
  }
  template <class Function>
  static void find(void* library, const char* name, Function& out) {
    out = reinterpret_cast<Function>(dlsym(library, name));
  }
};

/// "2 GPUs: A, B", or why there are none.
std::string gpus_of(const cuda_driver& driver) {
  int count = 0;
  int code = driver.init(0);
  if (code == 0)
    code = driver.device_count(&count);
  if (code != 0)
    return "no GPU (error " + std::to_string(code) + ")";
  std::string names;
  for (int i = 0; i < count; ++i) {
    int device = 0;
    char name[256] = {};
    if (driver.device(&device, i) == 0 &&
        driver.device_name(name, sizeof name, device) == 0)
      names += (names.empty() ? ": " : ", ") + std::string(name);
  }
  return std::to_string(count) + (count == 1 ? " GPU" : " GPUs") + names;
}

check driver() {
  check out{group, "CUDA driver", finding::note, {}, {}};
  out.what_to_do = "training uses the CPU; for GPUs install the NVIDIA driver";
  // Never closed: unloading the driver is unsafe.
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!library) {
    out.found = "none (libcuda.so.1 is not there)";
    return out;
  }
  cuda_driver found(library);
  int version = 0;
  if (!found.complete() || found.version(&version) != 0) {
    out.found = "libcuda.so.1 is there, but does not answer";
    return out;
  }
  out.result = finding::fine;
  out.what_to_do.clear();
  out.found = "for CUDA up to " + gpu::cuda_version_text(version) + ", " +
              gpus_of(found);
  return out;
}

check cuda_part(const gpu::cuda_report& report) {
  check out{group, "CUDA part", finding::fine, {}, {}};
  if (report.runtime_version != 0)
    out.found = "CUDA " + gpu::cuda_version_text(report.runtime_version) +
                ", for compute capability 8.0 and later";
  const std::string reason = why_no_gpu(report);
  if (!reason.empty()) {
    out.result = finding::note;
    out.found += (out.found.empty() ? "" : "; ") + ("no GPU: " + reason);
    out.what_to_do = how_to_get_gpu(report);
  }
  return out;
}

check gpu(const gpu::cuda_report& report, const gpu::cuda_device& device) {
  constexpr double gib = 1024.0 * 1024 * 1024;
  check out{
      group, "cuda:" + std::to_string(device.index), finding::note, {}, {}};
  std::ostringstream text;
  text.precision(1);
  text << device.name << ", " << std::fixed << double(device.memory_bytes) / gib
       << " GiB, compute capability " << device.major << "." << device.minor;
  failure why = why_not_device(report, device.index);
  if (!why)
    why = gpu::try_cuda_device(device.index);
  text << (why ? "; cannot be used: " + why.message
               : std::string("; runs Ballast's kernels"));
  if (!why) {
    out.result = finding::fine;
    if (const failure models = gpu::torch_on_cuda()) {
      out.result = finding::note;
      text << ", no models";
      out.what_to_do = models.message;
    }
  }
  out.found = text.str();
  return out;
}

check nccl() {
  const gpu::nccl_report report = gpu::probe_nccl();
  check out{group, "NCCL", finding::fine, {}, {}};
  if (report.running_version != 0)
    out.found =
        gpu::nccl_version_text(report.running_version) + ", " + report.file;
  const std::string trouble = nccl_trouble(report);
  if (!trouble.empty()) {
    out.result = finding::note;
    out.found += (out.found.empty() ? "" : "; ") + trouble;
    out.what_to_do = report.compiled_version == 0
                         ? ""
                         : "install NCCL " +
                               gpu::nccl_version_text(report.compiled_version) +
                               ", or build again with the one that is here";
  }
  return out;
}

} // namespace

void check_cuda_devices(std::vector<check>& out) {
  out.push_back(driver());
  const gpu::cuda_report report = gpu::probe_cuda();
  out.push_back(cuda_part(report));
  for (const gpu::cuda_device& device : report.devices)
    out.push_back(gpu(report, device));
  if (report.state != gpu::cuda_state::not_built)
    out.push_back(nccl());
  for (const gpu::environment_problem& one :
       gpu::nccl_environment_problems([](const char* name) {
         return static_cast<const char*>(std::getenv(name));
       }))
    out.push_back({group, one.variable, finding::note,
                   "'" + one.value + "' " + one.why, "unset " + one.variable});
}

} // namespace ballast::cli
