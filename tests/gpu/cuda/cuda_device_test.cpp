// Goal: a GPU as a worker's device does what the CPU does: arenas, copies,
// update, input, and whole runs of several workers. Needs a GPU; the runs also
// LibTorch's CUDA part.
#include "gpu/collective_backends.hpp"
#include "gpu/cuda_library.hpp"
#include "gpu/optimizer.hpp"
#include "gpu/torch_library.hpp"
#include "tests/gpu/cuda/device_fixture.hpp"
#include "tests/gpu/executor_cluster.hpp"

#include <cmath>

namespace ballast::gpu {
namespace {

using ballast::testing::expect_equal_bits;
using ballast::testing::noise;

class cuda_devices : public ballast::testing::device_fixture {
protected:
  void SetUp() override {
    device_fixture::SetUp();
    if (IsSkipped())
      return;
    device_ = open_cuda_device(0);
    backend_ = make_backend("local");
  }

  std::vector<float> values_of(const float* at, size_t count) {
    std::vector<float> out(count);
    device_->download(out.data(), at, count);
    return out;
  }

  std::shared_ptr<compute_device> device_;
  std::unique_ptr<collectives::collective_backend> backend_;
};

TEST_F(cuda_devices, give_zeroed_arenas_and_know_them_from_the_hosts_memory) {
  auto first = device_->allocate(1001, *backend_);
  auto second = device_->allocate(1, *backend_);
  expect_equal_bits(values_of(first.get(), 1001), std::vector<float>(1001),
                    "arena");
  EXPECT_EQ(device_->place_in_arena(first.get() + 17), 17u);
  EXPECT_EQ(device_->place_in_arena(second.get()), 0u);
  EXPECT_FALSE(device_->place_in_arena(backend_.get()));
  const float* gone = first.get();
  first.reset();
  EXPECT_FALSE(device_->place_in_arena(gone));
}

TEST_F(cuda_devices, copy_and_clear) {
  auto arena = device_->allocate(100000, *backend_);
  const std::vector<float> sent = noise(100000, 1);
  device_->upload(arena.get(), sent.data(), sent.size());
  expect_equal_bits(values_of(arena.get(), 100000), sent, "copied");
  device_->clear(arena.get() + 10, 5);
  device_->finish();
  EXPECT_EQ(values_of(arena.get() + 9, 7),
            (std::vector<float>{sent[9], 0, 0, 0, 0, 0, sent[15]}));
  auto pinned = device_->pin(backend_->allocate_arena(100000), 100000);
  device_->download(pinned.get(), arena.get() + 20, 100);
  EXPECT_EQ(pinned[99], sent[119]);
}

TEST_F(cuda_devices, refuse_an_arena_without_room_and_go_on) {
  try {
    device_->allocate(size_t{1} << 46, *backend_);
    FAIL() << "256 TiB fitted";
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().code, errc::device_failed);
    EXPECT_NE(std::string(e.what()).find("no room"), std::string::npos)
        << e.what();
  }
  device_->allocate(100, *backend_);
}

TEST_F(cuda_devices, update_as_the_cpu_does) {
  const size_t count = 10007;
  for (const optimizer_spec& spec :
       {optimizer_spec{.kind = optimizer_kind::sgd, .lr = 0.1},
        optimizer_spec{.kind = optimizer_kind::sgd, .lr = 0.1, .momentum = 0.9},
        optimizer_spec{
            .kind = optimizer_kind::adamw, .lr = 0.01, .weight_decay = 0.1}})
    for (std::optional<double> clip : {std::optional<double>(), {0.5}}) {
      auto p = device_->allocate(count, *backend_);
      auto g = device_->allocate(count, *backend_);
      auto there = device_->make_optimizer(spec, count, *backend_);
      auto here = make_optimizer(spec, count);
      std::vector<float> values = noise(count, 3);
      device_->upload(p.get(), values.data(), count);
      for (uint64_t step = 1; step <= 3; ++step) {
        const std::vector<float> gradient = noise(count, 10 + step);
        device_->upload(g.get(), gradient.data(), count);
        here->apply_clipped(values, gradient, 0.125, clip, spec.lr, step);
        there->apply_clipped({p.get(), count}, {g.get(), count}, 0.125, clip,
                             spec.lr, step);
        device_->finish();
      }
      expect_equal_bits(values_of(p.get(), count), values,
                        to_string(spec.kind).c_str());
      auto states = there->state();
      auto expected = here->state();
      ASSERT_EQ(states.size(), expected.size());
      for (size_t i = 0; i < states.size(); ++i)
        expect_equal_bits(values_of(states[i].values.data(), count),
                          std::vector<float>(expected[i].values.begin(),
                                             expected[i].values.end()),
                          "state");
    }
}

/// Ranges that begin anywhere, so that no register's worth of them is aligned.
TEST_F(cuda_devices, update_ranges_of_an_arena_as_the_cpu_does) {
  const size_t count = 10007;
  const update_groups some{
      {{0, 1001, 1}, {5002, 5005, 3}}, {{1001, 4001, 1}}, 2};
  for (const optimizer_spec& spec :
       {optimizer_spec{.kind = optimizer_kind::sgd, .lr = 0.1, .momentum = 0.9},
        optimizer_spec{
            .kind = optimizer_kind::adamw, .lr = 0.01, .weight_decay = 0.1}}) {
    auto p = device_->allocate(count, *backend_);
    auto g = device_->allocate(count, *backend_);
    auto there = device_->make_optimizer(spec, count, *backend_);
    auto here = make_optimizer(spec, count);
    there->arrange(some);
    here->arrange(some);
    std::vector<float> values = noise(count, 3);
    const std::vector<float> gradient = noise(count, 11);
    device_->upload(p.get(), values.data(), count);
    device_->upload(g.get(), gradient.data(), count);
    here->apply_clipped(values, gradient, 0.125, {}, spec.lr, 1);
    there->apply_clipped({p.get(), count}, {g.get(), count}, 0.125, {}, spec.lr,
                         1);
    device_->finish();
    expect_equal_bits(values_of(p.get(), count), values,
                      to_string(spec.kind).c_str());
  }
}

TEST_F(cuda_devices, bring_batches_that_grow_and_shrink) {
  for (uint32_t rows : {3u, 100u, 1u, 0u, 7u}) {
    const std::vector<float> features = noise(size_t(rows) * 5, rows);
    const std::vector<float> targets = noise(rows, 99);
    std::vector<int64_t> labels(rows);
    for (uint32_t i = 0; i < rows; ++i)
      labels[i] = int64_t(i) * 3;
    const batch_view got = device_->bring(1,
                                          {.features = features.data(),
                                           .labels = labels.data(),
                                           .targets = targets.data(),
                                           .rows = rows},
                                          5);
    if (rows == 0)
      continue;
    EXPECT_EQ(values_of(got.there.features, features.size()), features);
    EXPECT_EQ(values_of(got.there.targets, rows), targets);
    std::vector<int64_t> back(rows);
    check_cuda(cudaMemcpy(back.data(), got.there.labels, rows * 8,
                          cudaMemcpyDeviceToHost),
               "labels");
    EXPECT_EQ(back, labels);
  }
}

TEST_F(cuda_devices, wait_for_what_a_bucket_was_marked_after) {
  auto from = device_->allocate(size_t{1} << 24, *backend_);
  auto to = device_->allocate(size_t{1} << 24, *backend_);
  const std::vector<float> sent = noise(size_t{1} << 24, 1);
  device_->upload(from.get(), sent.data(), sent.size());
  check_cuda(cudaMemcpyAsync(to.get(), from.get(), sent.size() * 4,
                             cudaMemcpyDeviceToDevice, nullptr),
             "copy");
  device_->mark(40);
  std::thread([&] { device_->await(40); }).join();
  expect_equal_bits(values_of(to.get(), sent.size()), sent, "awaited");
}

// -- whole runs ---------------------------------------------------------------

job image_job(compute_precision precision) {
  job out = emulated_job(2, 24);
  out.model.kind = model_kind::mlp;
  out.model.hidden = {32};
  out.train.loss = loss_kind::cross_entropy;
  out.train.precision = precision;
  out.train.optimizer = {.kind = optimizer_kind::adamw, .lr = 0.01};
  return out;
}

cluster_setup on(std::function<std::shared_ptr<compute_device>(size_t)> device,
                 const std::string& backend) {
  cluster_setup out;
  out.backend = backend;
  out.device = std::move(device);
  out.test_chunks = 2;
  out.network = [](const job& what, compute_device& where) {
    return make_model({&what, data::shape_of(ledger::stored_type::uint8, 1, 2),
                       1, where.place()});
  };
  return out;
}

class cuda_runs : public cuda_devices {
protected:
  void SetUp() override {
    cuda_devices::SetUp();
    if (IsSkipped())
      return;
    if (failure why = torch_on_cuda())
      GTEST_SKIP() << why.message;
  }

  std::vector<float> trained(job what, const cluster_setup& setup,
                             size_t world) {
    cluster c(world, 11, std::move(what), setup);
    c.start();
    c.join();
    for (auto& one : c.workers_) {
      EXPECT_TRUE(one->finished) << (one->failed ? one->failed->message : "");
      if (!one->finished)
        return {};
      EXPECT_EQ(one->finished->weights_digest,
                c.workers_[0]->finished->weights_digest);
    }
    c.expect_each_once(2);
    return c.workers_[0]->parameters();
  }
  void expect_close(const std::vector<float>& got,
                    const std::vector<float>& expected, double tolerance) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t j = 0; j < got.size(); ++j)
      ASSERT_NEAR(got[j], expected[j], tolerance) << j;
  }
};

// Several workers on one GPU, whose buckets go through the host's memory.
TEST_F(cuda_runs, of_several_workers_on_one_gpu_train_as_the_cpu_does) {
  auto cpu = [](size_t) {
    return std::shared_ptr<compute_device>(&cpu_device(), [](auto*) {});
  };
  auto gpu = [](size_t) {
    return std::shared_ptr<compute_device>(open_cuda_device(0));
  };
  auto mixed = [&](size_t rank) { return rank == 1 ? cpu(rank) : gpu(rank); };
  const auto expected =
      trained(image_job(compute_precision::float32), on(cpu, "ring-shm"), 3);
  expect_close(
      trained(image_job(compute_precision::float32), on(gpu, "ring-shm"), 3),
      expected, 1e-3);
  expect_close(
      trained(image_job(compute_precision::float32), on(mixed, "ring-tcp"), 3),
      expected, 1e-3);
}

// One worker alone records its steps.
TEST_F(cuda_runs, that_record_their_steps_train_as_the_cpu_does) {
  auto cpu = [](size_t) {
    return std::shared_ptr<compute_device>(&cpu_device(), [](auto*) {});
  };
  auto gpu = [](size_t) {
    return std::shared_ptr<compute_device>(open_cuda_device(0));
  };
  expect_close(
      trained(image_job(compute_precision::float32), on(gpu, "local"), 1),
      trained(image_job(compute_precision::float32), on(cpu, "local"), 1),
      1e-3);
}

TEST_F(cuda_runs, in_bfloat16_end_near_float32) {
  auto gpu = [](size_t) {
    return std::shared_ptr<compute_device>(open_cuda_device(0));
  };
  const auto expected =
      trained(image_job(compute_precision::float32), on(gpu, "local"), 1);
  expect_close(
      trained(image_job(compute_precision::bfloat16), on(gpu, "local"), 1),
      expected, 0.1);
}

} // namespace
} // namespace ballast::gpu
