#include "gpu/cuda/cuda_optimizer.hpp"

#include "gpu/cuda/device_memory.hpp"
#include "gpu/cuda/kernels.hpp"
#include "runtime/base/errors.hpp"

namespace ballast::gpu {
namespace {

class cuda_optimizer final : public optimizer {
public:
  cuda_optimizer(const optimizer_spec& spec, size_t count, int device,
                 const arena_maker& make_arena)
      : spec_(spec), count_(count), device_(device),
        pieces_(norm_pieces(count)), clipped_(1) {
    for (const char* name : names())
      states_.push_back({name, make_arena(count)});
  }

  void apply(std::span<float> parameters, std::span<const float> gradients,
             double gradient_scale, double lr, uint64_t step) override {
    update(parameters, gradients, gradient_scale, {}, lr, step);
  }

  /// The device itself leaves out an update by a gradient that is not finite,
  /// so that the host waits once, after both.
  bool apply_clipped(std::span<float> parameters,
                     std::span<const float> gradients, double inverse_samples,
                     std::optional<double> clip_norm, double lr,
                     uint64_t step) override {
    check_cuda(cudaSetDevice(device_), "cudaSetDevice");
    const double limit = clip_norm.value_or(0); // 0: only compute the norm
    launch_clip_by_norm(gradients.data(), gradients.size(), inverse_samples,
                        limit, pieces_.data(), clipped_.data(), nullptr);
    const update_gate gate{clipped_.data(), largest_gradient(spec_)};
    update(parameters, gradients, inverse_samples, gate, lr, step);
    clipped found{};
    clipped_.download(&found, 1);
    return found.worst <= gate.largest; // false for NaN
  }

  std::vector<state_vector> state() override {
    std::vector<state_vector> out;
    for (const held& one : states_)
      out.push_back({one.name, {one.values.get(), count_}});
    return out;
  }

private:
  struct held {
    std::string name;
    std::shared_ptr<float[]> values;
  };

  bool is_sgd() const { return spec_.kind == optimizer_kind::sgd; }
  std::vector<const char*> names() const {
    if (!is_sgd())
      return {"exp_avg", "exp_avg_sq"};
    if (spec_.momentum != 0)
      return {"momentum_buffer"};
    return {};
  }

  void update(std::span<float> parameters, std::span<const float> gradients,
              double scale, const update_gate& gate, double lr, uint64_t step) {
    if (parameters.size() != count_ || gradients.size() != count_)
      throw ballast_error(errc::internal, "arenas of another model updated");
    check_cuda(cudaSetDevice(device_), "cudaSetDevice");
    for_each_range(count_, [&](const update_range& part) {
      float* p = parameters.data() + part.first;
      const float* g = gradients.data() + part.first;
      const auto state = [&](size_t i) {
        return states_[i].values.get() + part.first;
      };
      const double rate = lr * part.lr_factor;
      if (!is_sgd())
        launch_adam(p, g, state(0), state(1), part.count,
                    make_adam_rule(spec_, scale, rate, counted(step)), gate,
                    nullptr);
      else if (states_.empty())
        launch_sgd(p, g, part.count, make_sgd_rule(spec_, scale, rate), gate,
                   nullptr);
      else
        launch_momentum_sgd(p, g, state(0), part.count,
                            make_sgd_rule(spec_, scale, rate), gate, nullptr);
    });
  }

  optimizer_spec spec_;
  size_t count_;
  int device_;
  std::vector<held> states_;
  device_memory<double> pieces_;
  device_memory<clipped> clipped_;
};

} // namespace

std::unique_ptr<optimizer> make_cuda_optimizer(const optimizer_spec& spec,
                                               size_t count, int device,
                                               const arena_maker& make_arena) {
  return std::make_unique<cuda_optimizer>(spec, count, device, make_arena);
}

} // namespace ballast::gpu
