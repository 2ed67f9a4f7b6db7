#include "gpu/optimizer.hpp"

#include "gpu/kernels/global_norm.hpp"
#include "gpu/kernels/largest_magnitude.hpp"
#include "gpu/kernels/optimizer_rule.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/vectorized.hpp"

#include <cmath>
#include <limits>

namespace ballast::gpu {
namespace {

// The loops. Element by element without contraction, so that the result depends
// neither on the vector width nor on how an arena is cut.

BALLAST_VECTORIZED
void plain_sgd(float* __restrict p, const float* __restrict g, size_t n,
               sgd_rule rule) {
  for (size_t i = 0; i < n; ++i)
    p[i] = sgd_update(p[i], g[i], rule);
}

BALLAST_VECTORIZED
void momentum_sgd(float* __restrict p, const float* __restrict g,
                  float* __restrict velocity, size_t n, sgd_rule rule) {
  for (size_t i = 0; i < n; ++i) {
    const momentum_values next =
        momentum_update({p[i], velocity[i]}, g[i], rule);
    p[i] = next.p;
    velocity[i] = next.velocity;
  }
}

BALLAST_VECTORIZED
void adam(float* __restrict p, const float* __restrict g, float* __restrict m,
          float* __restrict v, size_t n, adam_rule rule) {
  for (size_t i = 0; i < n; ++i) {
    const adam_values next = adam_update({p[i], m[i], v[i]}, g[i], rule);
    p[i] = next.p;
    m[i] = next.m;
    v[i] = next.v;
  }
}

void check_sizes(std::span<float> parameters, std::span<const float> gradients,
                 size_t expected) {
  if (parameters.size() != expected || gradients.size() != expected)
    throw ballast_error(errc::internal,
                        "optimizer made for " + std::to_string(expected) +
                            " parameters got " +
                            std::to_string(parameters.size()) + " and " +
                            std::to_string(gradients.size()) + " gradients");
}

class host_optimizer : public optimizer {
public:
  explicit host_optimizer(const optimizer_spec& spec)
      : largest_(largest_gradient(spec)) {}

  bool apply_clipped(std::span<float> parameters,
                     std::span<const float> gradients, double inverse_samples,
                     std::optional<double> clip_norm, double lr,
                     uint64_t step) final {
    double scale = inverse_samples;
    double worst = 0;
    if (clip_norm) {
      const clipped how =
          clip_by_norm(sum_of_squares(gradients.data(), gradients.size()),
                       inverse_samples, *clip_norm);
      scale = how.scale;
      worst = how.worst;
    } else {
      worst =
          scale * double(largest_magnitude(gradients.data(), gradients.size()));
    }
    if (!(worst <= largest_)) // also true for NaN
      return false;
    apply(parameters, gradients, scale, lr, step);
    return true;
  }

private:
  double largest_;
};

/// A vector of the rule's state: zeros until the first update.
class state_values {
public:
  state_values(size_t count, const allocate_floats& allocate)
      : count_(count), values_(count > 0 ? allocate(count) : nullptr) {}
  float* data() const { return values_.get(); }
  std::span<float> all() const { return {values_.get(), count_}; }

private:
  size_t count_;
  std::shared_ptr<float[]> values_;
};

class sgd final : public host_optimizer {
public:
  sgd(const optimizer_spec& spec, size_t count, const allocate_floats& allocate)
      : host_optimizer(spec), spec_(spec), count_(count),
        velocity_(spec.momentum != 0 ? count : 0, allocate) {}

  void apply(std::span<float> parameters, std::span<const float> gradients,
             double gradient_scale, double lr, uint64_t /*step*/) override {
    check_sizes(parameters, gradients, count_);
    for_each_range(count_, [&](const update_range& part) {
      const sgd_rule rule =
          make_sgd_rule(spec_, gradient_scale, lr * part.lr_factor);
      float* p = parameters.data() + part.first;
      const float* g = gradients.data() + part.first;
      if (spec_.momentum == 0)
        plain_sgd(p, g, part.count, rule);
      else
        momentum_sgd(p, g, velocity_.data() + part.first, part.count, rule);
    });
  }

  std::vector<state_vector> state() override {
    if (spec_.momentum == 0)
      return {};
    return {{"momentum_buffer", velocity_.all()}};
  }

private:
  optimizer_spec spec_;
  size_t count_;
  state_values velocity_;
};

/// Adam and AdamW.
class adam_family final : public host_optimizer {
public:
  adam_family(const optimizer_spec& spec, size_t count,
              const allocate_floats& allocate)
      : host_optimizer(spec), spec_(spec), count_(count),
        exp_avg_(count, allocate), exp_avg_sq_(count, allocate) {}

  void apply(std::span<float> parameters, std::span<const float> gradients,
             double gradient_scale, double lr, uint64_t step) override {
    check_sizes(parameters, gradients, count_);
    for_each_range(count_, [&](const update_range& part) {
      adam(parameters.data() + part.first, gradients.data() + part.first,
           exp_avg_.data() + part.first, exp_avg_sq_.data() + part.first,
           part.count,
           make_adam_rule(spec_, gradient_scale, lr * part.lr_factor,
                          counted(step)));
    });
  }

  std::vector<state_vector> state() override {
    return {{"exp_avg", exp_avg_.all()}, {"exp_avg_sq", exp_avg_sq_.all()}};
  }

private:
  optimizer_spec spec_;
  size_t count_;
  state_values exp_avg_;
  state_values exp_avg_sq_;
};

} // namespace

std::unique_ptr<optimizer> make_optimizer(const optimizer_spec& spec,
                                          size_t parameter_count,
                                          const allocate_floats& allocate) {
  switch (spec.kind) {
  case optimizer_kind::sgd:
    return std::make_unique<sgd>(spec, parameter_count, allocate);
  case optimizer_kind::adam:
  case optimizer_kind::adamw:
    return std::make_unique<adam_family>(spec, parameter_count, allocate);
  }
  BALLAST_CHECK(false, "an optimizer of no kind");
}

} // namespace ballast::gpu
