// Goal: what a worker saves and takes over is the state of its device, wherever
// that is. Method: a device whose memory the host cannot touch, and a chunk
// service that hands out what was saved.
#include "actors/replica.hpp"

#include "actors/blob_pieces.hpp"
#include "data/model/safetensors.hpp"
#include "data/transfer/chunk_service.hpp"
#include "gpu/collective_backends.hpp"
#include "gpu/emulated_model.hpp"
#include "tests/collectives/resident_pages.hpp"
#include "tests/data/some_chunks.hpp"
#include "tests/gpu/guarded_device.hpp"
#include "tests/store/pieces_of.hpp"

#include <algorithm>
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
  const replica_image image = state_image(saved, "run", step_number{7});
  std::string bytes(image.file.bytes(), '\0');
  image.file.copy(0, bytes);
  EXPECT_GE(bytes.size(), state_bytes(saved));
  const data::tensor_file file = data::parse_safetensors(bytes, "state");
  ASSERT_TRUE(file.find("weight"));
  EXPECT_EQ(file.find("weight")->values[39], 40);
  ASSERT_TRUE(file.find("optimizer/exp_avg_sq"));
  EXPECT_EQ(file.find("optimizer/exp_avg_sq")->values[0], 2001);

  auto service = data::chunk_service::start(
      "127.0.0.1", 0, "token",
      [](data::data_part, chunk_id) { return data::chunk_ptr(); },
      [&](const std::string& name) -> std::optional<std::string> {
        std::string blob;
        uint64_t at = 0;
        if (!read_piece_name(name, blob, at) || blob != "checkpoint")
          return std::nullopt;
        return bytes.substr(at, piece_bytes);
      });
  gpu::guarded_device other;
  replica fresh;
  fill(fresh, other, 500);
  fetched_pieces origin(service->address(), "token", "checkpoint");
  EXPECT_EQ(load_state(
                fresh, [&] { return origin.next(); }, step_number{8}),
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

/// An emulated model of its own, built as a worker does.
void build_alone(replica& out, bool others_train, const model_spec& model) {
  job what;
  what.model = model;
  what.train.optimizer.kind = optimizer_kind::adamw;
  auto backend = gpu::make_backend("local");
  build(out, what, {}, 1, others_train, *backend);
}

// The workers of a host share its memory's speed, and every one waits for all.
TEST(replica, waits_with_the_second_gradients_unless_others_wait_for_it) {
  constexpr size_t large = size_t{1} << 20;
  model_spec what;
  what.kind = model_kind::emulated;
  what.parameters = large;
  for (bool others_train : {false, true}) {
    replica made;
    build_alone(made, others_train, what);
    const auto pages = [](const float* of) {
      return collectives::resident_pages(of, large);
    };
    EXPECT_GT(pages(made.memory.parameters.get()), 0u);
    EXPECT_GT(pages(made.memory.gradients[0].get()), 0u);
    EXPECT_EQ(pages(made.memory.gradients[1].get()) > 0, others_train);
    for (const auto& state : made.update->state())
      EXPECT_GT(pages(state.values.data()), 0u);
  }
}

TEST(replica, begins_with_the_parameters_that_the_job_names) {
  model_spec what;
  what.kind = model_kind::emulated;
  what.parameters = 1000;
  for (const char* init : {"default", "zeros"}) {
    what.init = init;
    replica made;
    build_alone(made, false, what);
    EXPECT_TRUE(std::all_of(made.memory.parameters.get(),
                            made.memory.parameters.get() + 1000,
                            [](float x) { return x == 0; }));
  }
}

TEST(replica, takes_nothing_over_of_a_checkpoint_that_does_not_fit) {
  gpu::guarded_device device;
  replica saved;
  fill(saved, device, 1);
  const replica_image image = state_image(saved, "run", step_number{7});
  std::string bytes(image.file.bytes(), '\0');
  image.file.copy(0, bytes);
  gpu::guarded_device other;
  replica fresh;
  fill(fresh, other, 500);
  const auto before = values_of(other, fresh.memory.parameters.get());
  const auto refused = [&](std::string file, step_number start) {
    try {
      load_state(fresh, store::pieces_of({std::move(file)}), start);
    } catch (const ballast_error& error) {
      return error.what_failed().message;
    }
    return std::string("nothing");
  };
  EXPECT_NE(refused(bytes, step_number{9}).find("of step 7"),
            std::string::npos);
  EXPECT_NE(
      refused(data::safetensors_bytes({}, {{"step", "7"}}), step_number{8})
          .find("'weight' has 0 values there, 40 here"),
      std::string::npos);
  EXPECT_NE(refused(bytes.substr(0, 9), step_number{8}).find("safetensors"),
            std::string::npos);
  EXPECT_EQ(values_of(other, fresh.memory.parameters.get()), before);
}

} // namespace
} // namespace ballast::actors
