#include "gpu/device.hpp"

#include <algorithm>

namespace ballast::gpu {
namespace {

class host_device final : public compute_device {
public:
  std::string name() const override { return "cpu"; }
  model_place place() const override { return {}; }
  std::shared_ptr<float[]>
  allocate(size_t floats, collectives::collective_backend& group) override {
    return group.allocate_arena(floats);
  }
  std::optional<size_t> place_in_arena(const void*) const override {
    return std::nullopt;
  }
  void clear(float* to, size_t count) override { std::fill_n(to, count, 0.0F); }
  void upload(float* to, const float* from, size_t count) override {
    std::copy_n(from, count, to);
  }
  void download(float* to, const float* from, size_t count) override {
    std::copy_n(from, count, to);
  }
  std::shared_ptr<float[]> pin(std::shared_ptr<float[]> memory,
                               size_t) override {
    return memory;
  }
  std::unique_ptr<optimizer>
  make_optimizer(const optimizer_spec& spec, size_t count,
                 collectives::collective_backend& group) override {
    // Where a newcomer of this host reads it, as it reads the parameters.
    return gpu::make_optimizer(spec, count, [&](size_t floats) {
      return group.allocate_arena(floats);
    });
  }
  batch_view bring(size_t, const batch_view& rows, uint32_t) override {
    return rows;
  }
  void mark(size_t) override {}
  void await(size_t) override {}
  void finish() override {}
};

} // namespace

compute_device& cpu_device() {
  static host_device device;
  return device;
}

std::span<const float> on_host(compute_device& device, const float* values,
                               size_t count, host_rooms& room) {
  if (device.is_host())
    return {values, count};
  room.push_back(std::make_unique_for_overwrite<float[]>(count));
  device.download(room.back().get(), values, count);
  return {room.back().get(), count};
}

} // namespace ballast::gpu
