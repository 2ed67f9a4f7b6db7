// Goal: what a worker saves and takes over is the state of its device, wherever
// that is. Method: a device whose memory the host cannot touch, and a chunk
// service that hands out what was saved.
#include "actors/replica.hpp"

#include "data/model/safetensors.hpp"
#include "data/transfer/chunk_service.hpp"
#include "gpu/collective_backends.hpp"
#include "gpu/emulated_model.hpp"
#include "tests/data/some_chunks.hpp"
#include "tests/gpu/guarded_device.hpp"

#include <gtest/gtest.h>
#include <numeric>

namespace ballast::actors {
namespace {

using namespace std::chrono_literals;

constexpr size_t count = 40;

/// An emulated model on `device`, its parameters from `first` on.
void fill(replica& parts, gpu::guarded_device& device, float first) {
  parts.device = &device;
  model_spec what;
  what.kind = model_kind::emulated;
  what.parameters = count;
  auto backend = gpu::make_backend("local");
  parts.network = std::make_unique<gpu::emulated_model>(what);
  parts.update =
      device.make_optimizer({.kind = optimizer_kind::adamw}, count, *backend);
  parts.memory.count = count;
  parts.memory.parameters = device.allocate(count);
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), first);
  device.upload(parts.memory.parameters.get(), values.data(), count);
  for (auto& state : parts.update->state()) {
    for (float& x : values)
      x += 1000;
    device.upload(state.values.data(), values.data(), count);
  }
}

std::vector<float> values_of(gpu::guarded_device& device, const float* at) {
  std::vector<float> out(count);
  device.download(out.data(), at, count);
  return out;
}

TEST(replica, saves_what_lies_on_a_device_and_takes_it_over_there) {
  if (data::under_thread_sanitizer)
    GTEST_SKIP() << "the service's threads are not compiled for it";
  gpu::guarded_device device;
  replica saved;
  fill(saved, device, 1);
  const std::string bytes = state_bytes(saved, "run", step_number{7});
  const data::tensor_file file = data::parse_safetensors(bytes, "state");
  ASSERT_TRUE(file.find("weight"));
  EXPECT_EQ(file.find("weight")->values[39], 40);
  ASSERT_TRUE(file.find("optimizer/exp_avg_sq"));
  EXPECT_EQ(file.find("optimizer/exp_avg_sq")->values[0], 2001);

  auto service = data::chunk_service::start(
      "127.0.0.1", 0, "token",
      [](data::data_part, chunk_id) { return data::chunk_ptr(); },
      [&](const std::string& name) -> std::optional<std::string> {
        return name == "checkpoint" ? std::optional(bytes) : std::nullopt;
      });
  gpu::guarded_device other;
  replica fresh;
  fill(fresh, other, 500);
  auto origin = data::chunk_client::connect(service->address(), "token", 10s);
  EXPECT_EQ(load_state(fresh, origin->fetch_blob("checkpoint", bulk_patience),
                       step_number{8}),
            step_number{7});
  EXPECT_EQ(values_of(other, fresh.memory.parameters.get()),
            values_of(device, saved.memory.parameters.get()));
  auto states = fresh.update->state();
  auto expected = saved.update->state();
  ASSERT_EQ(states.size(), 2u);
  for (size_t i = 0; i < states.size(); ++i)
    EXPECT_EQ(values_of(other, states[i].values.data()),
              values_of(device, expected[i].values.data()));
  service->shutdown(1s);
}

} // namespace
} // namespace ballast::actors
