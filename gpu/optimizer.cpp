#include "gpu/optimizer.hpp"

#include "gpu/vectorized.hpp"
#include "runtime/errors.hpp"

#include <cmath>

namespace ballast {
namespace {

// The loops. Element by element without contraction: the result does not depend
// on the vector width, nor on how an arena is cut.

struct sgd_step {
  float gradient_scale;
  float lr;
  float momentum;
  float weight_decay;
};

BALLAST_VECTORIZED
void plain_sgd(float* __restrict p, const float* __restrict g, size_t n,
               sgd_step s) {
  for (size_t i = 0; i < n; ++i) {
    float d = g[i] * s.gradient_scale + s.weight_decay * p[i];
    p[i] -= s.lr * d;
  }
}

BALLAST_VECTORIZED
void momentum_sgd(float* __restrict p, const float* __restrict g,
                  float* __restrict velocity, size_t n, sgd_step s) {
  for (size_t i = 0; i < n; ++i) {
    float d = g[i] * s.gradient_scale + s.weight_decay * p[i];
    velocity[i] = s.momentum * velocity[i] + d;
    p[i] -= s.lr * velocity[i];
  }
}

struct adam_step {
  float gradient_scale;
  float step_size;      // lr / (1 - beta1^t)
  float inverse_root_2; // 1 / sqrt(1 - beta2^t)
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float eps;
  float l2;     // adam: added to the gradient
  float shrink; // adamw: parameters are multiplied by it first
};

BALLAST_VECTORIZED
void adam(float* __restrict p, const float* __restrict g, float* __restrict m,
          float* __restrict v, size_t n, adam_step s) {
  for (size_t i = 0; i < n; ++i) {
    float d = g[i] * s.gradient_scale + s.l2 * p[i];
    m[i] += s.one_minus_beta1 * (d - m[i]);
    v[i] = s.beta2 * v[i] + s.one_minus_beta2 * d * d;
    float denominator = std::sqrt(v[i]) * s.inverse_root_2 + s.eps;
    p[i] = p[i] * s.shrink - s.step_size * (m[i] / denominator);
  }
}

// Sixteen partial sums, added in a fixed order: vectorised, and the same bits
// on every CPU.
BALLAST_VECTORIZED
double sum_of_squares(const float* values, size_t n) {
  double partial[16] = {};
  size_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (size_t j = 0; j < 16; ++j)
      partial[j] += double(values[i + j]) * double(values[i + j]);
  for (; i < n; ++i)
    partial[i % 16] += double(values[i]) * double(values[i]);
  double sum = 0;
  for (double part : partial)
    sum += part;
  return sum;
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

class sgd final : public optimizer {
public:
  sgd(const optimizer_spec& spec, size_t count)
      : spec_(spec), count_(count), velocity_(spec.momentum != 0 ? count : 0) {}

  void apply(std::span<float> parameters, std::span<const float> gradients,
             double gradient_scale, double lr, uint64_t /*step*/) override {
    check_sizes(parameters, gradients, count_);
    const sgd_step s{float(gradient_scale), float(lr), float(spec_.momentum),
                     float(spec_.weight_decay)};
    if (velocity_.empty())
      plain_sgd(parameters.data(), gradients.data(), count_, s);
    else
      momentum_sgd(parameters.data(), gradients.data(), velocity_.data(),
                   count_, s);
  }

  std::vector<state_vector> state() override {
    if (spec_.momentum == 0)
      return {};
    return {{"momentum_buffer", velocity_}};
  }

private:
  optimizer_spec spec_;
  size_t count_;
  std::vector<float> velocity_;
};

/// Adam (weight decay is an L2 term of the gradient) and AdamW (decoupled: the
/// parameters shrink by lr * weight_decay).
class adam_family final : public optimizer {
public:
  adam_family(const optimizer_spec& spec, size_t count)
      : spec_(spec), exp_avg_(count), exp_avg_sq_(count) {}

  void apply(std::span<float> parameters, std::span<const float> gradients,
             double gradient_scale, double lr, uint64_t step) override {
    check_sizes(parameters, gradients, exp_avg_.size());
    const bool decoupled = spec_.kind == "adamw";
    const double correction1 = 1 - std::pow(spec_.beta1, double(step));
    const double correction2 = 1 - std::pow(spec_.beta2, double(step));
    adam(parameters.data(), gradients.data(), exp_avg_.data(),
         exp_avg_sq_.data(), exp_avg_.size(),
         {.gradient_scale = float(gradient_scale),
          .step_size = float(lr / correction1),
          .inverse_root_2 = float(1 / std::sqrt(correction2)),
          .one_minus_beta1 = float(1 - spec_.beta1),
          .beta2 = float(spec_.beta2),
          .one_minus_beta2 = float(1 - spec_.beta2),
          .eps = float(spec_.eps),
          .l2 = decoupled ? 0.0F : float(spec_.weight_decay),
          .shrink = decoupled ? float(1 - lr * spec_.weight_decay) : 1.0F});
  }

  std::vector<state_vector> state() override {
    return {{"exp_avg", exp_avg_}, {"exp_avg_sq", exp_avg_sq_}};
  }

private:
  optimizer_spec spec_;
  std::vector<float> exp_avg_;
  std::vector<float> exp_avg_sq_;
};

} // namespace

double l2_norm(std::span<const float> values) {
  return std::sqrt(sum_of_squares(values.data(), values.size()));
}

std::unique_ptr<optimizer> make_optimizer(const optimizer_spec& spec,
                                          size_t parameter_count) {
  if (spec.kind == "sgd")
    return std::make_unique<sgd>(spec, parameter_count);
  if (spec.kind == "adam" || spec.kind == "adamw")
    return std::make_unique<adam_family>(spec, parameter_count);
  throw ballast_error(errc::invalid_job,
                      "unknown optimizer '" + spec.kind +
                          "'; allowed are sgd, adam, adamw",
                      "/train/optimizer/kind");
}

} // namespace ballast
