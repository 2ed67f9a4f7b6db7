#include "gpu/nvml.hpp"

#include <dlfcn.h>

namespace ballast::gpu {
namespace {

// NVML's own header comes with the toolkit; the part used here has not changed
// in ten years.
using nvml_device = void*;
using nvml_events = void*;
constexpr int success = 0;
constexpr unsigned temperature_of_gpu = 0;
constexpr unsigned pcie_sent = 0;
constexpr unsigned pcie_received = 1;
constexpr unsigned errors_uncorrected = 1;
constexpr unsigned counted_since_load = 0;
constexpr unsigned long long event_xid = 0x8;

struct nvml_utilization {
  unsigned gpu;
  unsigned memory;
};
struct nvml_memory {
  unsigned long long total, free, used;
};
struct nvml_event {
  nvml_device device;
  unsigned long long type, data;
  unsigned gpu_instance, compute_instance;
};

struct nvml_functions {
  int (*init)() = nullptr;
  int (*by_bus)(const char*, nvml_device*) = nullptr;
  int (*utilization)(nvml_device, nvml_utilization*) = nullptr;
  int (*memory)(nvml_device, nvml_memory*) = nullptr;
  int (*power)(nvml_device, unsigned*) = nullptr;
  int (*temperature)(nvml_device, unsigned, unsigned*) = nullptr;
  int (*clock_reasons)(nvml_device, unsigned long long*) = nullptr;
  int (*pcie)(nvml_device, unsigned, unsigned*) = nullptr;
  int (*errors)(nvml_device, unsigned, unsigned, unsigned long long*) = nullptr;
  int (*events_create)(nvml_events*) = nullptr;
  int (*events_register)(nvml_device, unsigned long long,
                         nvml_events) = nullptr;
  int (*events_wait)(nvml_events, nvml_event*, unsigned) = nullptr;
};

template <class Function>
void find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(dlsym(library, name));
}

nvml_functions functions_of(void* library) {
  nvml_functions out;
  find(library, "nvmlInit_v2", out.init);
  find(library, "nvmlDeviceGetHandleByPciBusId_v2", out.by_bus);
  find(library, "nvmlDeviceGetUtilizationRates", out.utilization);
  find(library, "nvmlDeviceGetMemoryInfo", out.memory);
  find(library, "nvmlDeviceGetPowerUsage", out.power);
  find(library, "nvmlDeviceGetTemperature", out.temperature);
  find(library, "nvmlDeviceGetCurrentClocksEventReasons", out.clock_reasons);
  if (!out.clock_reasons) // its name before driver 535
    find(library, "nvmlDeviceGetCurrentClocksThrottleReasons",
         out.clock_reasons);
  find(library, "nvmlDeviceGetPcieThroughput", out.pcie);
  find(library, "nvmlDeviceGetTotalEccErrors", out.errors);
  find(library, "nvmlEventSetCreate", out.events_create);
  find(library, "nvmlDeviceRegisterEvents", out.events_register);
  find(library, "nvmlEventSetWait_v2", out.events_wait);
  return out;
}

class reader final : public nvml_reader {
public:
  reader(const nvml_functions& ask, nvml_device device)
      : ask_(ask), device_(device) {
    if (!ask_.events_create || !ask_.events_register || !ask_.events_wait ||
        ask_.events_create(&events_) != success ||
        ask_.events_register(device_, event_xid, events_) != success)
      events_ = nullptr; // not permitted, or not supported by this GPU
  }

  gpu_reading read() override {
    gpu_reading out;
    nvml_utilization used{};
    if (ask_.utilization && ask_.utilization(device_, &used) == success)
      out.utilization_ratio = double(used.gpu) / 100;
    nvml_memory memory{};
    if (ask_.memory && ask_.memory(device_, &memory) == success) {
      out.memory_used_bytes = memory.used;
      out.memory_bytes = memory.total;
    }
    unsigned number = 0;
    if (ask_.power && ask_.power(device_, &number) == success)
      out.power_watts = double(number) / 1000;
    if (ask_.temperature &&
        ask_.temperature(device_, temperature_of_gpu, &number) == success)
      out.temperature_celsius = number;
    unsigned long long bits = 0;
    if (ask_.clock_reasons && ask_.clock_reasons(device_, &bits) == success)
      out.clock_reasons = bits;
    if (ask_.pcie && ask_.pcie(device_, pcie_sent, &number) == success)
      out.sent_bytes_per_second = uint64_t(number) * 1024;
    if (ask_.pcie && ask_.pcie(device_, pcie_received, &number) == success)
      out.received_bytes_per_second = uint64_t(number) * 1024;
    unsigned long long count = 0;
    if (ask_.errors && ask_.errors(device_, errors_uncorrected,
                                   counted_since_load, &count) == success)
      out.memory_errors = count;
    nvml_event event{};
    while (events_ && ask_.events_wait(events_, &event, 0) == success)
      if (event.type == event_xid)
        xid_ = event.data;
    out.xid = xid_;
    return out;
  }

private:
  nvml_functions ask_;
  nvml_device device_;
  nvml_events events_ = nullptr;
  uint64_t xid_ = 0;
};

} // namespace

std::unique_ptr<nvml_reader> nvml_reader::open(const std::string& bus,
                                               std::string& why,
                                               const std::string& library) {
  // Stays open: other code may use it, too.
  void* opened = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!opened) {
    why = dlerror();
    return nullptr;
  }
  const nvml_functions ask = functions_of(opened);
  if (!ask.init || !ask.by_bus || ask.init() != success) {
    why = library + " does not answer";
    return nullptr;
  }
  nvml_device device = nullptr;
  if (ask.by_bus(bus.c_str(), &device) != success) {
    why = library + " knows no GPU " + bus;
    return nullptr;
  }
  return std::make_unique<reader>(ask, device);
}

} // namespace ballast::gpu
