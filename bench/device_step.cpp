// The cost of one training step of a built-in model on a device: batch to the
// device, gradient, AdamW without clipping, with the parts that a worker uses,
// without the run around them. bench/gpu.py compares it with
// bench/peers/torch_step.py.
//
//   device_step MODEL DEVICE BATCH PRECISION STEPS SIDE|TOKENS WIDTH LAYERS
//               VOCABULARY
//
// MODEL resnet18 (images of 3 x SIDE x SIDE, 10 classes) or transformer (rows
// of TOKENS tokens); WIDTH, LAYERS and VOCABULARY apply to the transformer.
// Prints JSON: the milliseconds of each step, the parameters, the last loss.
#include "gpu/collective_backends.hpp"
#include "gpu/cuda_library.hpp"
#include "gpu/device.hpp"
#include "gpu/model.hpp"
#include "gpu/torch_library.hpp"
#include "runtime/base/random.hpp"
#include "runtime/ledger/manifest.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <semaphore>
#include <thread>
#include <utility>

namespace ballast::bench {
namespace {

struct rows_in_memory {
  std::vector<float> features;
  std::vector<int64_t> labels;

  rows_in_memory(const ledger::row_shape& row, uint32_t rows) : labels(rows) {
    const counter_random random(1, 2);
    uint64_t draw = 0;
    for (size_t i = 0; i < size_t(rows) * row.features; ++i)
      features.push_back(row.vocabulary > 0
                             ? float(random.below(row.vocabulary, draw++))
                             : float(random.unit(draw++)));
    for (int64_t& label : labels)
      label = int64_t(random.below(row.classes, draw++));
  }
  gpu::batch_view view() const {
    return {.features = features.data(),
            .labels = labels.data(),
            .rows = uint32_t(labels.size())};
  }
};

uint32_t number(const char* text) {
  return uint32_t(std::strtoul(text, nullptr, 10));
}

/// The job of the command line, and the shape of its rows.
std::pair<job, ledger::row_shape> step_of(char** arguments) {
  const model_kind kind = parse_word<model_kind>(arguments[1]).value();
  const uint32_t size = number(arguments[6]);
  job what;
  what.model.kind = kind;
  what.train.precision = parse_word<compute_precision>(arguments[4]).value();
  what.train.optimizer = {.kind = optimizer_kind::adamw, .lr = 1e-3};
  ledger::row_shape row;
  if (kind == model_kind::transformer) {
    what.train.loss = loss_kind::next_token;
    what.model.width = number(arguments[7]);
    what.model.heads = what.model.width / 64 > 0 ? what.model.width / 64 : 1;
    what.model.layers = number(arguments[8]);
    row.shape = {size};
    row.features = size;
    row.classes = 1;
    row.vocabulary = number(arguments[9]);
  } else {
    row.shape = {3, size, size};
    row.features = 3 * size * size;
    row.classes = 10;
  }
  return {what, row};
}

/// As in a worker, the next batch travels while a step computes.
class batch_loader {
public:
  batch_loader(gpu::compute_device& device, const rows_in_memory& data,
               uint32_t features, uint32_t steps)
      : thread_([this, &device, &data, features, steps] {
          for (uint32_t step = 1; step <= steps; ++step) {
            wanted_.acquire();
            following_ = device.bring(step % 2, data.view(), features);
            brought_.release();
          }
        }) {}

  /// Once for each step.
  gpu::batch_view next() {
    brought_.acquire();
    const gpu::batch_view out = following_;
    wanted_.release();
    return out;
  }

private:
  gpu::batch_view following_;
  std::binary_semaphore wanted_{1};
  std::binary_semaphore brought_{0};
  std::jthread thread_;
};

int run(char** arguments) {
  const std::string device_name = arguments[2];
  const uint32_t rows = number(arguments[3]);
  const uint32_t steps = number(arguments[5]);

  const auto [what, row] = step_of(arguments);

  std::unique_ptr<gpu::compute_device> opened;
  if (std::optional<int> index = gpu::cuda_index(device_name)) {
    if (failure why = gpu::torch_on_cuda())
      throw ballast_error(why);
    opened = gpu::open_cuda_device(*index);
  }
  gpu::compute_device& device = opened ? *opened : gpu::cpu_device();
  auto backend = gpu::make_backend("local");
  const char* threads = std::getenv("BALLAST_BENCH_THREADS");
  gpu::model_place place = device.place();
  place.records = std::getenv("BALLAST_BENCH_UNRECORDED") == nullptr;
  auto network =
      gpu::make_model({&what, row, threads ? number(threads) : 1, place});
  const size_t count = network->parameter_count();
  auto parameters = device.allocate(count, *backend);
  auto gradients = device.allocate(count, *backend);
  std::vector<float> values(count);
  network->initialize(values);
  device.upload(parameters.get(), values.data(), count);
  network->bind({parameters.get(), count}, {gradients.get(), count});
  auto update = device.make_optimizer(what.train.optimizer, count, *backend);
  const rows_in_memory data(row, rows);

  std::vector<float> statistics(network->statistics_count());
  batch_loader loader(device, data, row.features, steps);

  std::printf("{\"parameters\": %zu, \"ms\": [", count);
  double loss = 0;
  for (uint32_t step = 1; step <= steps; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    const gpu::batch_view batch = loader.next();
    device.clear(gradients.get(), count);
    loss = network->accumulate(batch, step, {});
    network->take_statistics(statistics);
    update->apply({parameters.get(), count}, {gradients.get(), count},
                  1.0 / rows, 1e-3, step);
    device.finish();
    const std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - begin;
    std::printf("%s%.4f", step > 1 ? ", " : "", took.count());
  }
  std::printf("], \"loss\": %.4f}\n", loss / rows);
  return 0;
}

} // namespace
} // namespace ballast::bench

int main(int count, char** arguments) {
  if (count != 10) {
    std::fprintf(stderr,
                 "usage: device_step MODEL DEVICE BATCH PRECISION STEPS SIZE "
                 "WIDTH LAYERS VOCABULARY\n");
    return 2;
  }
  try {
    return ballast::bench::run(arguments);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "device_step: %s\n", e.what());
    return 1;
  }
}
