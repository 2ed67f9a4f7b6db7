// A libnvidia-ml for tests: one GPU whose state the test sets, by a call or,
// from outside the process, by the four numbers in the file that
// $BALLAST_TEST_NVML names. It speaks NVML's binary interface, and lacks what
// some GPUs lack (power).
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct state {
  unsigned temperature = 41;
  unsigned long long reasons = 0;
  unsigned long long errors = 7;
  unsigned long long xid = 0;
};
state now;
int device_marker, events_marker;

constexpr int no_error = 0, not_supported = 3, not_found = 6, timed_out = 10;

void look_at_file() {
  const char* name = std::getenv("BALLAST_TEST_NVML");
  FILE* file = name ? std::fopen(name, "r") : nullptr;
  if (!file)
    return;
  state next;
  if (std::fscanf(file, "%u %llu %llu %llu", &next.temperature, &next.reasons,
                  &next.errors, &next.xid) == 4)
    now = next;
  std::fclose(file);
}

} // namespace

extern "C" {

struct fake_event {
  void* device;
  unsigned long long type, data;
  unsigned gpu, compute;
};

void fake_nvml_set(unsigned temperature, unsigned long long reasons,
                   unsigned long long errors, unsigned long long xid) {
  now = {temperature, reasons, errors, xid};
}

int nvmlInit_v2() {
  return no_error;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** out) {
  *out = &device_marker;
  return std::strcmp(bus, "0000:17:00.0") == 0 ? no_error : not_found;
}
int nvmlDeviceGetUtilizationRates(void*, unsigned* out) {
  look_at_file(); // the first thing that a reading asks for
  out[0] = 93;
  out[1] = 40;
  return no_error;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* out) {
  out[0] = 1000;
  out[1] = 400;
  out[2] = 600;
  return no_error;
}
int nvmlDeviceGetPowerUsage(void*, unsigned*) {
  return not_supported;
}
int nvmlDeviceGetTemperature(void*, unsigned, unsigned* out) {
  *out = now.temperature;
  return no_error;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* out) {
  *out = now.reasons;
  return no_error;
}
int nvmlDeviceGetPcieThroughput(void*, unsigned counter, unsigned* out) {
  *out = counter == 0 ? 5 : 9;
  return no_error;
}
int nvmlDeviceGetTotalEccErrors(void*, unsigned type, unsigned counter,
                                unsigned long long* out) {
  *out = type == 1 && counter == 0 ? now.errors : 99;
  return no_error;
}
int nvmlEventSetCreate(void** out) {
  *out = &events_marker;
  return no_error;
}
int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) {
  return no_error;
}
int nvmlEventSetWait_v2(void*, fake_event* out, unsigned) {
  if (now.xid == 0)
    return timed_out;
  *out = {&device_marker, 0x8, now.xid, 0, 0};
  now.xid = 0; // once
  return no_error;
}

} // extern "C"
