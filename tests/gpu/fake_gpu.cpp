// Two GPUs without hardware, in the place of libballast_cuda.so, so that real
// processes can be workers of GPUs: guarded_device.hpp under the names "cuda:0"
// and "cuda:1". In the place of libballast_torch.so it passes models on to the
// real one, $BALLAST_TEST_TORCH.
//
// $BALLAST_TEST_NCCL: "works" is the ring under NCCL's name, which takes memory
// of these GPUs; "broken" opens, and fails in every generation; nothing: there
// is none.
#include "collectives/ring.hpp"
#include "gpu/cuda/entry_points.hpp"
#include "gpu/staged_collective.hpp"
#include "gpu/torch/factory.hpp"
#include "tests/gpu/guarded_device.hpp"

#include <cstdlib>
#include <dlfcn.h>

namespace {

using namespace ballast;
using namespace ballast::gpu;

constexpr int gpus = 2;
constexpr const char* buses[gpus] = {"0000:17:00.0", "0000:65:00.0"};
guarded_device* made[gpus] = {};

std::string wanted_nccl() {
  const char* text = std::getenv("BALLAST_TEST_NCCL");
  return text ? text : "";
}

class played_opening final : public collectives::collective_opening {
public:
  played_opening(std::unique_ptr<collectives::collective_opening> ring,
                 guarded_device& device, std::shared_ptr<float[]> mirror)
      : ring_(std::move(ring)), device_(device), mirror_(std::move(mirror)) {}
  const std::string& address() const override { return ring_->address(); }
  std::unique_ptr<collectives::collective>
  connect(const std::vector<std::string>& addresses,
          collectives::deadline until) override {
    if (wanted_nccl() == "broken")
      throw collectives::collective_error(
          collectives::collective_errc::unsupported, "unhandled system error");
    return make_staged_collective(ring_->connect(addresses, until), device_,
                                  mirror_, device_.largest);
  }
  void abort(const std::string& reason) noexcept override {
    ring_->abort(reason);
  }

private:
  std::unique_ptr<collectives::collective_opening> ring_;
  guarded_device& device_;
  std::shared_ptr<float[]> mirror_;
};

class played_nccl final : public collectives::collective_backend {
public:
  explicit played_nccl(guarded_device& device) : device_(device) {}
  std::string name() const override { return "nccl"; }
  collectives::collective_capabilities capabilities() const override {
    collectives::collective_capabilities out = ring_->capabilities();
    out.device_memory = true;
    return out;
  }
  std::unique_ptr<collectives::collective_opening>
  prepare(const collectives::collective_options& options) override {
    auto mirror = ring_->allocate_arena(device_.largest);
    return std::make_unique<played_opening>(ring_->prepare(options), device_,
                                            std::move(mirror));
  }

private:
  guarded_device& device_;
  std::unique_ptr<collectives::collective_backend> ring_ =
      collectives::make_ring_backend("ring", {});
};

torch_factory* real_models() {
  const char* file = std::getenv("BALLAST_TEST_TORCH");
  void* opened = file ? dlopen(file, RTLD_NOW | RTLD_LOCAL) : nullptr;
  return opened ? reinterpret_cast<torch_factory*>(
                      dlsym(opened, torch_factory_name))
                : nullptr;
}

} // namespace

extern "C" {

void ballast_cuda_probe(cuda_report* out) {
  out->state = cuda_state::usable;
  out->runtime_version = out->driver_version = 13000;
  for (int i = 0; i < gpus; ++i)
    out->devices.push_back({i, "Fake", 9, 0, uint64_t{1} << 30});
}
void ballast_cuda_try_device(int, failure*) {}
void ballast_nccl_probe(nccl_report* out) {
  if (wanted_nccl().empty())
    out->why_not = "there is none for GPUs that do not exist";
  else
    out->compiled_version = out->running_version = 22809;
}
collectives::collective_backend* ballast_make_nccl_backend(int device,
                                                           failure*) {
  return new played_nccl(*made[device]);
}
compute_device* ballast_make_cuda_device(int index, failure*) {
  made[index] =
      new guarded_device("cuda:" + std::to_string(index), buses[index]);
  return made[index];
}

model* ballast_make_torch_model(const model_request* request, failure* why) {
  static torch_factory* const make = real_models();
  if (make)
    return make(request, why);
  *why = {errc::not_in_build, "no $BALLAST_TEST_TORCH", {}};
  return nullptr;
}
void ballast_load_torch_cuda(failure*) {}

} // extern "C"
