// What it costs to end a collective over NCCL and to open the next one, as a
// change of membership does, with one rank on the first GPU; and whether
// anything of it stays. bench/gpu.py runs it and judges the result.
//
//   nccl_rebuild [GENERATIONS=100]
//
// A generation: prepare (which gets NCCL's unique id), connect, one all_reduce
// of one float in the host's memory, and the end: the first generation and
// every other one after it is closed, the rest are aborted; then dropped.
// Prints one JSON object on stdout, and every 10 generations a line of progress
// on stderr. Without a GPU or NCCL the object contains the reason, and the exit
// code is 0.
#include "gpu/cuda/check.hpp"
#include "gpu/cuda_library.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

namespace {

using namespace ballast;
using std::chrono::steady_clock;

constexpr int caches_filled = 10; // generations after which nothing may grow

collectives::deadline soon() {
  return steady_clock::now() + std::chrono::seconds(20);
}

/// Milliseconds since it was last asked.
class lap_clock {
public:
  double lap_ms() {
    const steady_clock::time_point now = steady_clock::now();
    const std::chrono::duration<double, std::milli> out = now - begin_;
    begin_ = now;
    return out.count();
  }

private:
  steady_clock::time_point begin_ = steady_clock::now();
};

struct generation_times {
  double prepare_ms = 0;
  double connect_ms = 0;
  double all_reduce_ms = 0;
  double end_ms = 0;  // including the following
  double drop_ms = 0; // destruction: waits for an abort, frees memory
  bool closed = false;

  nlohmann::ordered_json to_json() const {
    return {{"ended", closed ? "closed" : "aborted"},
            {"prepare_ms", prepare_ms},
            {"connect_ms", connect_ms},
            {"all_reduce_ms", all_reduce_ms},
            {"end_ms", end_ms},
            {"drop_ms", drop_ms}};
  }
};

generation_times rebuild(collectives::collective_backend& backend, int number) {
  collectives::collective_options options;
  options.generation = generation{uint64_t(number)};
  options.token = "a token of the benchmark";
  generation_times out;
  out.closed = number % 2 == 1;
  lap_clock clock;
  auto opening = backend.prepare(options);
  out.prepare_ms = clock.lap_ms();
  auto alone = opening->connect({opening->address()}, soon());
  opening.reset();
  out.connect_ms = clock.lap_ms();
  float one = 1;
  alone->all_reduce(&one, 1, collectives::element_type::float32, soon());
  out.all_reduce_ms = clock.lap_ms();
  if (out.closed)
    alone->close(soon());
  else
    alone->abort("the next one, please");
  const double given_up_ms = clock.lap_ms();
  alone.reset();
  out.drop_ms = clock.lap_ms();
  out.end_ms = given_up_ms + out.drop_ms;
  return out;
}

void tell(int done, int of, const generation_times& last) {
  std::fprintf(stderr,
               "nccl_rebuild: %d of %d generations; the last one: prepare %.1f "
               "ms, connect %.1f ms, all_reduce %.1f ms, %s %.1f ms\n",
               done, of, last.prepare_ms, last.connect_ms, last.all_reduce_ms,
               last.closed ? "close" : "abort", last.end_ms);
  std::fflush(stderr);
}

size_t entries_of(const char* folder) {
  using iterator = std::filesystem::directory_iterator;
  return size_t(std::distance(iterator(folder), iterator()));
}

nlohmann::ordered_json held() {
  size_t free = 0;
  size_t total = 0;
  gpu::check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return {{"descriptors", entries_of("/proc/self/fd")},
          {"threads", entries_of("/proc/self/task")},
          {"free_bytes", free}};
}

/// What is held when everything that was given up is freed, which happens
/// beside the next generations.
nlohmann::ordered_json
held_after_all(std::unique_ptr<collectives::collective_backend>& backend) {
  backend.reset();
  nlohmann::ordered_json out = held();
  backend = gpu::open_nccl_backend(0);
  return out;
}

std::string why_not_here(const gpu::cuda_report& cuda,
                         const gpu::nccl_report& nccl) {
  std::string reason = gpu::why_no_gpu(cuda);
  if (reason.empty() && nccl.running_version == 0)
    reason = "NCCL: " + nccl.why_not;
  return reason;
}

} // namespace

int main(int argc, char** argv) {
  nlohmann::ordered_json out;
  const gpu::cuda_report report = gpu::probe_cuda();
  const gpu::nccl_report nccl = gpu::probe_nccl();
  const std::string reason = why_not_here(report, nccl);
  if (!reason.empty()) {
    out["no_gpu"] = reason;
    std::printf("%s\n", out.dump().c_str());
    return 0;
  }
  const int generations = argc > 1 ? std::max(2, std::atoi(argv[1])) : 100;
  const int warm_up = std::min(caches_filled, generations / 2);
  try {
    gpu::check_cuda(cudaSetDevice(0), "cudaSetDevice");
    auto backend = gpu::open_nccl_backend(0);
    out["device"] = report.devices[0].name;
    out["driver"] = gpu::cuda_version_text(report.driver_version);
    out["nccl"] = gpu::nccl_version_text(nccl.running_version);
    out["warm_up"] = warm_up;
    out["before"] = nullptr;
    out["generations"] = nlohmann::ordered_json::array();
    for (int number = 1; number <= generations; ++number) {
      const generation_times times = rebuild(*backend, number);
      out["generations"].push_back(times.to_json());
      if (number == 1 || number % 10 == 0 || number == generations)
        tell(number, generations, times);
      if (number == warm_up)
        out["before"] = held_after_all(backend);
    }
    out["after"] = held_after_all(backend);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "nccl_rebuild: %s\n", e.what());
    return 1;
  }
  std::printf("%s\n", out.dump().c_str());
  return 0;
}
