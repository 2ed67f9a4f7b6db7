/// The operating system checks of `ballast doctor`.
#include "cli/commands/doctor_checks.hpp"

#include "data/prepared/prepared_set.hpp"
#include "monitor/http/http_bind.hpp"
#include "monitor/http/http_server.hpp"

#include <filesystem>
#include <fstream>
#include <sched.h>
#include <sstream>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace ballast::cli {

namespace {

namespace fs = std::filesystem;

constexpr double gib = 1024.0 * 1024 * 1024;
constexpr uint64_t descriptors_wanted = 1024;
constexpr double worker_memory_gib = 0.5; // a worker with LibTorch, no data
constexpr double disk_wanted_gib = 1;

std::string gib_text(double bytes) {
  std::ostringstream out;
  out.precision(1);
  out << std::fixed << bytes / gib << " GiB";
  return out.str();
}

/// A value of a "key: value" file such as /proc/meminfo; empty if absent.
std::string field_of(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    size_t colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, key.size(), key) != 0)
      continue;
    size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return {};
}

std::string first_line(const char* file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

double meminfo_bytes(const char* key) {
  std::string text = field_of("/proc/meminfo", key);
  return text.empty() ? 0 : std::stod(text) * 1024;
}

/// "max" or absent: no limit.
double number_or(const std::string& text, double otherwise) {
  std::istringstream in(text);
  double number = 0;
  return in >> number ? number : otherwise;
}

check cores() {
  cpu_set_t mine;
  CPU_ZERO(&mine);
  unsigned usable = std::thread::hardware_concurrency();
  if (sched_getaffinity(0, sizeof mine, &mine) == 0)
    usable = unsigned(CPU_COUNT(&mine));
  check out{"machine", "cores", finding::fine, {}, {}};
  out.found = std::to_string(usable) + " usable of " +
              std::to_string(sysconf(_SC_NPROCESSORS_ONLN));
  std::istringstream quota(first_line("/sys/fs/cgroup/cpu.max"));
  double share = 0;
  double period = 0;
  if (quota >> share >> period && period > 0) {
    std::ostringstream text;
    text << share / period;
    out.found += ", " + text.str() + " by the container's quota";
    if (share / period < usable) {
      out.result = finding::note;
      out.what_to_do = "set \"threads\" in the job: the default counts cores, "
                       "not the quota";
    }
  }
  return out;
}

check memory() {
  check out{"machine", "memory", finding::fine, {}, {}};
  double total = meminfo_bytes("MemTotal");
  double available = meminfo_bytes("MemAvailable");
  out.found = gib_text(available) + " free of " + gib_text(total);
  double limit = number_or(first_line("/sys/fs/cgroup/memory.max"), 0);
  if (limit > 0 && limit < total) {
    out.found += ", the container's limit is " + gib_text(limit);
    available = std::min(available, limit);
  }
  if (available / gib < 2 * worker_memory_gib) {
    out.result = finding::note;
    out.what_to_do = "two workers need about 1 GiB besides their data";
  }
  return out;
}

check descriptors() {
  check out{"machine", "open files", finding::fine, {}, {}};
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  out.found = "limit " + (limit.rlim_cur == RLIM_INFINITY
                              ? std::string("none")
                              : std::to_string(limit.rlim_cur));
  if (limit.rlim_cur < descriptors_wanted) {
    out.result = finding::note;
    out.what_to_do = "ulimit -n " + std::to_string(descriptors_wanted) +
                     "; many workers or event streams may run out";
  }
  return out;
}

check loopback() {
  check out{"machine", "loopback", finding::fine, {}, {}};
  failure why = monitor::why_not_bound("anything", "127.0.0.1", 0);
  out.found = why ? why.message : "a port of 127.0.0.1 can be bound";
  if (why) {
    out.result = finding::missing;
    out.what_to_do = "bring the interface up: ip link set lo up";
  }
  return out;
}

/// Free space at `path`, or where it would be.
check disk(const std::string& name, const fs::path& path,
           const std::string& elsewhere) {
  check out{"places", name, finding::fine, {}, {}};
  std::error_code error;
  fs::path there = fs::absolute(path, error);
  while (!there.empty() && !fs::exists(there, error) &&
         there != there.parent_path())
    there = there.parent_path();
  fs::space_info space = fs::space(there, error);
  if (error) {
    out.result = finding::missing;
    out.found = path.string() + ": " + error.message();
    out.what_to_do = elsewhere;
    return out;
  }
  out.found = path.string() + ", " + gib_text(double(space.available)) +
              " free" + (there == path ? "" : ", made when needed");
  if (access(there.c_str(), W_OK | X_OK) != 0) {
    out.result = finding::missing;
    out.found += ", not writable";
    out.what_to_do = elsewhere;
  } else if (double(space.available) / gib < disk_wanted_gib) {
    out.result = finding::note;
    out.what_to_do = elsewhere;
  }
  return out;
}

} // namespace

void check_machine(std::vector<check>& out) {
  utsname system{};
  uname(&system);
  out.push_back({"machine",
                 "system",
                 finding::fine,
                 std::string(system.sysname) + " " + system.release + " " +
                     system.machine + ", host " + system.nodename,
                 {}});
  out.push_back(cores());
  out.push_back(memory());
  out.push_back(descriptors());
  out.push_back(loopback());
}

void check_devices(std::vector<check>& out) {
  std::string model = field_of("/proc/cpuinfo", "model name");
  std::string flags = " " + field_of("/proc/cpuinfo", "flags") + " ";
  for (const char* flag : {"avx2", "avx512f"})
    if (flags.find(" " + std::string(flag) + " ") != std::string::npos)
      model += std::string(", ") + flag;
  out.push_back({"devices",
                 "cpu",
                 finding::fine,
                 model.empty() ? "unknown model" : model,
                 {}});
  check_cuda_devices(out);
}

void check_places(std::vector<check>& out) {
  out.push_back(disk("cache of data", data::default_cache_folder(),
                     "point $BALLAST_CACHE to a local disk with space"));
  std::error_code error;
  out.push_back(disk("run directories", fs::current_path(error) / "runs",
                     "start elsewhere, or use --run-dir"));
  fs::path example = "/usr/share/datasets/fashion-mnist";
  bool there = fs::exists(example / "train-images-idx3-ubyte.gz", error);
  out.push_back({"places", "example data",
                 there ? finding::fine : finding::missing,
                 there ? example.string() : "Fashion-MNIST is not installed",
                 there ? "" : "apt-get install dataset-fashion-mnist"});
}

} // namespace ballast::cli
