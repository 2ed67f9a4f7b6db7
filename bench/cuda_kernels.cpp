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
    gpu::check_cuda(cudaEventCreate(&begin_), "cudaEventCreate");
    gpu::check_cuda(cudaEventCreate(&end_), "cudaEventCreate");
  }
  stopwatch(const stopwatch&) = delete;
  stopwatch& operator=(const stopwatch&) = delete;
  ~stopwatch() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  /// Of one launch, in milliseconds.
  double time(const std::function<void()>& launch) {
    launch(); // the GPU is busy before the first time stamp
    gpu::check_cuda(cudaEventRecord(begin_), "cudaEventRecord");
    for (int i = 0; i < launches; ++i)
      launch();
    gpu::check_cuda(cudaEventRecord(end_), "cudaEventRecord");
    gpu::check_cuda(cudaEventSynchronize(end_), "cudaEventSynchronize");
    float ms = 0;
    gpu::check_cuda(cudaEventElapsedTime(&ms, begin_, end_),
                    "cudaEventElapsedTime");
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

/// What the kernels work on: `count` floats and as many labels, and `rows` rows
/// of `features` numbers each.
struct kernel_inputs {
  explicit kernel_inputs(size_t mebibytes)
      : count(mebibytes * 1024 * 1024 / sizeof(float)), rows(count / features),
        p(values_of(count)), g(values_of(count)), m(values_of(count)),
        v(values_of(count)), many(labels_of(count, 1000)),
        few(labels_of(count, 10)), order(order_of(rows)),
        stored(rows * features), counts(1001), pieces(gpu::norm_pieces(count)),
        scale(1), bucket_end(worker::trailer::floats) {
    gpu::check_cuda(cudaMemset(v.data(), 0, count * sizeof(float)),
                    "cudaMemset");
    gpu::check_cuda(cudaMemset(stored.data(), 7, stored.size()), "cudaMemset");
  }

  static std::vector<float> values_of(size_t count) {
    std::vector<float> out(count);
    for (size_t i = 0; i < count; ++i)
      out[i] = float(i % 1013) / 1013 - 0.5F;
    return out;
  }
  static std::vector<int32_t> labels_of(size_t count, int32_t classes) {
    std::vector<int32_t> out(count);
    for (size_t i = 0; i < count; ++i)
      out[i] = int32_t(i * 7919 % 10007 % 1000) % classes;
    return out;
  }
  /// A permutation, unless `rows` is a multiple of the factor.
  static std::vector<uint32_t> order_of(size_t rows) {
    std::vector<uint32_t> out(rows);
    for (size_t i = 0; i < rows; ++i)
      out[i] = uint32_t(i * 7919 % rows);
    return out;
  }

  size_t count;
  size_t rows;
  gpu::device_memory<float> p, g, m, v;
  gpu::device_memory<int32_t> many, few;
  gpu::device_memory<uint32_t> order;
  gpu::device_memory<uint8_t> stored;
  gpu::device_memory<uint64_t> counts;
  gpu::device_memory<double> pieces;
  gpu::device_memory<gpu::clipped> scale;
  gpu::device_memory<float> bucket_end;
};

/// `in` outlives them.
std::vector<benchmark_case> cases_on(kernel_inputs& in) {
  const size_t count = in.count;
  const double size = double(count) * sizeof(float);
  const double gathered = double(in.rows) * features;
  const optimizer_spec spec{.kind = optimizer_kind::adamw,
                            .weight_decay = 0.01};
  const gpu::sgd_rule sgd = gpu::make_sgd_rule(spec, 0.001, 1e-6);
  const gpu::adam_rule adam = gpu::make_adam_rule(spec, 0.001, 1e-6, 10);
  std::vector<benchmark_case> cases;
  auto add = [&cases](std::string name, double bytes,
                      std::function<void()> launch) {
    cases.push_back({std::move(name), bytes, std::move(launch)});
  };
  add("copy", 2 * size, [=, &in] {
    gpu::check_cuda(cudaMemcpyAsync(in.m.data(), in.g.data(),
                                    count * sizeof(float),
                                    cudaMemcpyDeviceToDevice),
                    "copy");
  });
  add("scale_copy", 2 * size, [=, &in] {
    gpu::launch_scale_copy(in.g.data(), in.m.data(), count, 0.5F, nullptr);
  });
  add("clip_by_norm", size, [=, &in] {
    launch_clip_by_norm(in.g.data(), count, 0.01, 1, in.pieces.data(),
                        in.scale.data(), nullptr);
  });
  add("sgd", 3 * size, [=, &in] {
    launch_sgd(in.p.data(), in.g.data(), count, sgd, {}, nullptr);
  });
  add("momentum_sgd", 5 * size, [=, &in] {
    launch_momentum_sgd(in.p.data(), in.g.data(), in.m.data(), count, sgd, {},
                        nullptr);
  });
  add("adamw", 7 * size, [=, &in] {
    launch_adam(in.p.data(), in.g.data(), in.m.data(), in.v.data(), count, adam,
                {}, nullptr);
  });
  add("label_histogram, 10 classes", size, [=, &in] {
    gpu::launch_label_histogram(in.few.data(), count, 10, in.counts.data(),
                                nullptr);
  });
  add("label_histogram, 1000 classes", size, [=, &in] {
    gpu::launch_label_histogram(in.many.data(), count, 1000, in.counts.data(),
                                nullptr);
  });
  add("gather_rows, uint8", 5 * gathered, [=, &in] {
    launch_gather_rows(
        gpu::row_block<uint8_t>{in.stored.data(), uint32_t(in.rows), features},
        in.order.data(), in.rows, 1.0F / 255, 0, in.m.data(), nullptr);
  });
  add("gather_rows, float32", 8 * gathered, [=, &in] {
    launch_gather_rows(
        gpu::row_block<float>{in.g.data(), uint32_t(in.rows), features},
        in.order.data(), in.rows, 0.5F, 0, in.m.data(), nullptr);
  });
  add("write_trailer", sizeof(float) * worker::trailer::floats, [=, &in] {
    gpu::launch_write_trailer(worker::trailer{}, nullptr, in.bucket_end.data(),
                              nullptr);
  });
  return cases;
}

nlohmann::ordered_json measure(size_t mebibytes, int rounds) {
  kernel_inputs inputs(mebibytes);
  std::vector<benchmark_case> cases = cases_on(inputs);
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
  const gpu::cuda_report report = gpu::probe_cuda();
  const std::string reason = gpu::why_no_gpu(report);
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
    gpu::check_cuda(cudaSetDevice(0), "cudaSetDevice");
    out["device"] = report.devices[0].name;
    out["driver"] = gpu::cuda_version_text(report.driver_version);
    out["runtime"] = gpu::cuda_version_text(report.runtime_version);
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
