// Measures the kernels: bytes touched a second, against a device-to-device copy
// of the same size, which a kernel bound by memory can reach. bench/gpu.py runs
// it and judges the result.
//
//   cuda_kernels [ROUNDS=20] [MEBIBYTES=64 ...]
//
// The cases alternate in every round; medians over the rounds. Bytes touched:
// each byte read or written counts once, for arrays and not for parameters.
// Prints one JSON object on stdout. Without a GPU it contains the reason, and
// the exit code is 0.
#include "gpu/cuda/device_memory.hpp"
#include "gpu/cuda/kernels.hpp"
#include "gpu/cuda_library.hpp"
#include "runtime/job/job.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using namespace ballast;

constexpr int launches = 20; // between two time stamps
constexpr uint32_t features = 784;

/// Two events in a stream, and the time between them.
class stopwatch {
public:
  stopwatch() {
    check_cuda(cudaEventCreate(&begin_), "cudaEventCreate");
    check_cuda(cudaEventCreate(&end_), "cudaEventCreate");
  }
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;
  ~stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  /// Of one launch, in milliseconds.
  double time(const std::function<void()>& launch) {
    check_cuda(cudaEventRecord(begin_), "cudaEventRecord");
    for (int i = 0; i < launches; ++i)
      launch();
    check_cuda(cudaEventRecord(end_), "cudaEventRecord");
    check_cuda(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float ms = 0;
    check_cuda(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
    return double(ms) / launches;
  }

private:
  cudaEvent_t begin_ = nullptr;
  cudaEvent_t end_ = nullptr;
};

struct benchmark_case {
  std::string name;
  double bytes; // touched by a launch
  std::function<void()> launch;
  std::vector<double> ms = {};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

nlohmann::ordered_json measure(size_t mebibytes, int rounds) {
  const size_t count = mebibytes * 1024 * 1024 / sizeof(float);
  const double size = double(count) * sizeof(float);
  const size_t rows = count / features;
  std::vector<float> values(count);
  std::vector<int32_t> labels(count);
  std::vector<uint32_t> index(rows);
  for (size_t i = 0; i < count; ++i) {
    values[i] = float(i % 1013) / 1013 - 0.5F;
    labels[i] = int32_t(i * 7919 % 10007 % 1000);
  }
  for (size_t i = 0; i < rows; ++i) // a permutation unless rows is a multiple
    index[i] = uint32_t(i * 7919 % rows);
  device_memory<float> p(values), g(values), m(values), v(values);
  check_cuda(cudaMemset(v.data(), 0, count * sizeof(float)), "cudaMemset");
  device_memory<int32_t> many(labels);
  for (int32_t& label : labels)
    label %= 10;
  device_memory<int32_t> few(labels);
  device_memory<uint32_t> order(index);
  device_memory<uint8_t> stored(rows * features);
  check_cuda(cudaMemset(stored.data(), 7, stored.size()), "cudaMemset");
  device_memory<uint64_t> counts(1001);
  device_memory<double> pieces(norm_pieces(count));
  device_memory<clipped> scale(1);
  device_memory<float> bucket_end(trailer::floats);
  const double gathered = double(rows) * features;
  const optimizer_spec spec{.kind = "adamw", .weight_decay = 0.01};
  const sgd_rule sgd = make_sgd_rule(spec, 0.001, 1e-6);
  const adam_rule adam = make_adam_rule(spec, 0.001, 1e-6, 10);

  std::vector<benchmark_case> cases;
  auto add = [&cases](std::string name, double bytes,
                      std::function<void()> launch) {
    cases.push_back({std::move(name), bytes, std::move(launch)});
  };
  add("copy", 2 * size, [&] {
    check_cuda(cudaMemcpyAsync(m.data(), g.data(), count * sizeof(float),
                               cudaMemcpyDeviceToDevice),
               "copy");
  });
  add("scale_copy", 2 * size,
      [&] { launch_scale_copy(g.data(), m.data(), count, 0.5F, nullptr); });
  add("clip_by_norm", size, [&] {
    launch_clip_by_norm(g.data(), count, 0.01, 1, pieces.data(), scale.data(),
                        nullptr);
  });
  add("sgd", 3 * size,
      [&] { launch_sgd(p.data(), g.data(), count, sgd, nullptr, nullptr); });
  add("momentum_sgd", 5 * size, [&] {
    launch_momentum_sgd(p.data(), g.data(), m.data(), count, sgd, nullptr,
                        nullptr);
  });
  add("adamw", 7 * size, [&] {
    launch_adam(p.data(), g.data(), m.data(), v.data(), count, adam, nullptr,
                nullptr);
  });
  add("label_histogram, 10 classes", size, [&] {
    launch_label_histogram(few.data(), count, 10, counts.data(), nullptr);
  });
  add("label_histogram, 1000 classes", size, [&] {
    launch_label_histogram(many.data(), count, 1000, counts.data(), nullptr);
  });
  add("gather_rows, uint8", 5 * gathered, [&] {
    launch_gather_rows(
        row_block<uint8_t>{stored.data(), uint32_t(rows), features},
        order.data(), rows, 1.0F / 255, 0, m.data(), nullptr);
  });
  add("gather_rows, float32", 8 * gathered, [&] {
    launch_gather_rows(row_block<float>{g.data(), uint32_t(rows), features},
                       order.data(), rows, 0.5F, 0, m.data(), nullptr);
  });
  add("write_trailer", sizeof(float) * trailer::floats, [&] {
    launch_write_trailer(trailer{}, nullptr, bucket_end.data(), nullptr);
  });

  stopwatch watch;
  for (benchmark_case& one : cases) // warm-up
    watch.time(one.launch);
  for (int round = 0; round < rounds; ++round)
    for (benchmark_case& one : cases)
      one.ms.push_back(watch.time(one.launch));
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const benchmark_case& one : cases) {
    const double ms = median(one.ms);
    out.push_back(
        {{"kernel", one.name},
         {"mebibytes", mebibytes},
         {"us", ms * 1000},
         {"gb_s", one.bytes / ms / 1e6},
         {"of_copy", one.bytes / ms / (cases[0].bytes / median(cases[0].ms))},
         {"rounds_us", one.ms}});
    for (auto& us : out.back()["rounds_us"])
      us = us.get<double>() * 1000;
  }
  return out;
}

} // namespace

int main(int argc, char** argv) {
  nlohmann::ordered_json out;
  const cuda_report report = probe_cuda();
  const std::string reason = why_no_gpu(report);
  if (!reason.empty()) {
    out["no_gpu"] = reason;
    std::printf("%s\n", out.dump().c_str());
    return 0;
  }
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 20;
  std::vector<size_t> sizes;
  for (int i = 2; i < argc; ++i)
    sizes.push_back(size_t(std::clamp(std::atoi(argv[i]), 1, 4096)));
  if (sizes.empty())
    sizes = {64, 256};
  try {
    check_cuda(cudaSetDevice(0), "cudaSetDevice");
    out["device"] = report.devices[0].name;
    out["driver"] = cuda_version_text(report.driver_version);
    out["runtime"] = cuda_version_text(report.runtime_version);
    out["kernels"] = nlohmann::ordered_json::array();
    for (size_t mebibytes : sizes)
      for (auto& row : measure(mebibytes, rounds))
        out["kernels"].push_back(std::move(row));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cuda_kernels: %s\n", e.what());
    return 1;
  }
  std::printf("%s\n", out.dump().c_str());
  return 0;
}
