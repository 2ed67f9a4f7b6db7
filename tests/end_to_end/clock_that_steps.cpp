// Loaded before everything else (LD_PRELOAD): the time of day is that of the
// machine plus as many nanoseconds as the first 8 bytes of the file named by
// $BALLAST_TEST_CLOCK say at that moment. Clocks that never step stay as they
// are. For end_to_end/chaos.py.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

const volatile int64_t* offset_ns() {
  static const volatile int64_t* mapped = [] {
    static const volatile int64_t none = 0;
    const char* path = std::getenv("BALLAST_TEST_CLOCK");
    int fd = path ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
      return &none;
    void* page = ::mmap(nullptr, sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
    ::close(fd);
    return page == MAP_FAILED ? &none
                              : static_cast<const volatile int64_t*>(page);
  }();
  return mapped;
}

using clock_gettime_type = int (*)(clockid_t, timespec*);

int real_clock(clockid_t which, timespec* out) {
  static auto real =
      reinterpret_cast<clock_gettime_type>(dlsym(RTLD_NEXT, "clock_gettime"));
  return real(which, out);
}

} // namespace

extern "C" {

int clock_gettime(clockid_t which, timespec* out) {
  int result = real_clock(which, out);
  if (result == 0 &&
      (which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE)) {
    int64_t ns = int64_t(out->tv_sec) * 1'000'000'000 + out->tv_nsec;
    ns += *offset_ns();
    out->tv_sec = ns / 1'000'000'000;
    out->tv_nsec = ns % 1'000'000'000;
  }
  return result;
}

int gettimeofday(timeval* out, void*) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  out->tv_sec = now.tv_sec;
  out->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* out) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out)
    *out = now.tv_sec;
  return now.tv_sec;
}
}
