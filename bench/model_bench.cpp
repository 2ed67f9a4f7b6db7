// The compute cost of a worker: one model, one thread. Counters are samples a
// second.
#include "gpu/model.hpp"
#include "gpu/optimizer.hpp"
#include "runtime/base/random.hpp"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <chrono>
#include <numeric>
#include <thread>

namespace ballast::bench {
namespace {

struct rows_in_memory {
  std::vector<float> features;
  std::vector<int64_t> labels;
  std::vector<uint64_t> ids;
  gpu::batch_view view(uint32_t rows) const {
    return {.features = features.data(),
            .labels = labels.data(),
            .sample_ids = ids.data(),
            .rows = rows};
  }
};

rows_in_memory make_rows(uint32_t rows, uint32_t features) {
  counter_random random(1, 2);
  rows_in_memory out{std::vector<float>(size_t(rows) * features),
                     std::vector<int64_t>(rows), std::vector<uint64_t>(rows)};
  for (size_t i = 0; i < out.features.size(); ++i)
    out.features[i] = float(random.unit(i));
  for (uint32_t i = 0; i < rows; ++i)
    out.labels[i] = int64_t(random.below(10, i));
  std::iota(out.ids.begin(), out.ids.end(), 0);
  return out;
}

job job_for(model_kind kind) {
  job out;
  out.model.kind = kind;
  out.model.hidden = {128};
  out.model.channels = {16, 32};
  out.train.optimizer.kind = optimizer_kind::adamw;
  out.train.optimizer.lr = 1e-3;
  return out;
}

job wide(job what) {
  what.model.hidden = {1024, 1024, 1024};
  return what;
}

/// Gradient sum of a batch, then the update; arenas alternate as in a worker.
void step(benchmark::State& state, const job& what) {
  const auto rows = uint32_t(state.range(0));
  ledger::row_shape shape;
  shape.features = 784;
  shape.shape = {28, 28};
  shape.classes = 10;
  auto tested = gpu::make_model({.what = &what, .row = shape, .threads = 1});
  const size_t count = tested->parameter_count();
  auto update = gpu::make_optimizer(what.train.optimizer, count);
  std::vector<float> parameters(count);
  std::vector<float> gradients[2] = {std::vector<float>(count),
                                     std::vector<float>(count)};
  tested->initialize(parameters);
  const rows_in_memory data = make_rows(rows, shape.features);
  uint64_t done = 0;
  for (auto _ : state) {
    std::vector<float>& arena = gradients[done++ % 2];
    std::fill(arena.begin(), arena.end(), 0.0F);
    tested->bind(parameters, arena);
    tested->accumulate(data.view(rows), done, {});
    update->apply(parameters, arena, 1.0 / rows, 1e-3, done);
  }
  state.counters["samples_per_s"] = benchmark::Counter(
      double(rows) * double(state.iterations()), benchmark::Counter::kIsRate);
}

/// How long a pass continues after an interrupt, at moments spread over it;
/// `left_ms` is the time that it would otherwise have continued.
void interrupted(benchmark::State& state, const job& what) {
  using clock = std::chrono::steady_clock;
  const auto seconds = [](clock::duration span) {
    return std::chrono::duration<double>(span).count();
  };
  const auto rows = uint32_t(state.range(0));
  ledger::row_shape shape;
  shape.shape = {3, 64, 64};
  shape.features = 3 * 64 * 64;
  shape.classes = 10;
  auto tested = gpu::make_model({.what = &what, .row = shape, .threads = 1});
  std::vector<float> parameters(tested->parameter_count());
  std::vector<float> gradients(parameters.size());
  tested->initialize(parameters);
  tested->bind(parameters, gradients);
  const rows_in_memory data = make_rows(rows, shape.features);
  const auto pass = [&] { tested->accumulate(data.view(rows), 1, {}); };
  pass();
  clock::time_point begun = clock::now();
  pass();
  const clock::duration whole = clock::now() - begun;
  double left = 0;
  int moment = 0;
  for (auto _ : state) {
    moment = moment % 9 + 1;
    begun = clock::now();
    const clock::time_point when = begun + whole * moment / 10;
    clock::time_point done;
    std::thread computes([&] {
      pass();
      done = clock::now();
    });
    std::this_thread::sleep_until(when);
    const clock::time_point told = clock::now();
    tested->interrupt();
    computes.join();
    tested->resume();
    state.SetIterationTime(std::max(0.0, seconds(done - told)));
    left += std::max(0.0, seconds(begun + whole - told));
  }
  state.counters["left_ms"] = 1e3 * left / double(state.iterations());
  state.counters["pass_ms"] = 1e3 * seconds(whole);
}

void update_only(benchmark::State& state, optimizer_kind kind) {
  const auto count = size_t(state.range(0));
  auto update = gpu::make_optimizer({.kind = kind}, count);
  std::vector<float> parameters(count), gradients(count, 0.1F);
  uint64_t done = 0;
  for (auto _ : state)
    update->apply(parameters, gradients, 0.01, 1e-3, ++done);
}

BENCHMARK_CAPTURE(step, mlp, job_for(model_kind::mlp))->Arg(128)->Arg(256);
BENCHMARK_CAPTURE(step, wide_mlp, wide(job_for(model_kind::mlp)))
    ->Arg(128)
    ->Arg(512);
BENCHMARK_CAPTURE(step, cnn, job_for(model_kind::cnn))->Arg(128)->Arg(256);
BENCHMARK_CAPTURE(step, logistic, job_for(model_kind::logistic))->Arg(128);
BENCHMARK_CAPTURE(interrupted, wide_mlp, wide(job_for(model_kind::mlp)))
    ->Arg(512)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(27);
BENCHMARK_CAPTURE(interrupted, resnet18, job_for(model_kind::resnet18))
    ->Arg(32)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond)
    ->Iterations(27);
BENCHMARK_CAPTURE(update_only, adamw, optimizer_kind::adamw)
    ->Arg(101'770)
    ->Arg(6'250'000);
BENCHMARK_CAPTURE(update_only, sgd, optimizer_kind::sgd)->Arg(101'770);

} // namespace
} // namespace ballast::bench

BENCHMARK_MAIN();
