/// The update rules of one parameter, and the constants of a step that all
/// parameters share. gpu/optimizer.cpp runs them on the CPU,
/// gpu/cuda/elementwise.cu on GPUs: with equal bits, because both compile the
/// same source and round every operation separately.
#pragma once

#include "gpu/kernels/host_device.hpp"

#include <cmath>
#include <cstdint>

namespace ballast {
struct optimizer_spec;
} // namespace ballast

namespace ballast::gpu {

struct sgd_rule {
  float gradient_scale;
  float lr;
  float momentum;
  float weight_decay;
};

struct adam_rule {
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

/// For a step (from 1), with the learning rate of that step.
sgd_rule make_sgd_rule(const optimizer_spec& spec, double gradient_scale,
                       double lr);
/// Adam (weight decay is an L2 term of the gradient) and AdamW (decoupled: the
/// parameters shrink by lr * weight_decay).
adam_rule make_adam_rule(const optimizer_spec& spec, double gradient_scale,
                         double lr, uint64_t step);

/// The parameter after the step.
BALLAST_HOST_DEVICE float sgd_update(float p, float g, const sgd_rule& rule) {
  float d = g * rule.gradient_scale + rule.weight_decay * p;
  return p - rule.lr * d;
}

struct momentum_values {
  float p;
  float velocity;
};
BALLAST_HOST_DEVICE momentum_values momentum_update(momentum_values at, float g,
                                                    const sgd_rule& rule) {
  float d = g * rule.gradient_scale + rule.weight_decay * at.p;
  at.velocity = rule.momentum * at.velocity + d;
  at.p -= rule.lr * at.velocity;
  return at;
}

struct adam_values {
  float p;
  float m; // running mean of the gradient
  float v; // and of its square
};
BALLAST_HOST_DEVICE adam_values adam_update(adam_values at, float g,
                                            const adam_rule& rule) {
  float d = g * rule.gradient_scale + rule.l2 * at.p;
  at.m += rule.one_minus_beta1 * (d - at.m);
  at.v = rule.beta2 * at.v + rule.one_minus_beta2 * d * d;
  float denominator = sqrtf(at.v) * rule.inverse_root_2 + rule.eps;
  at.p = at.p * rule.shrink - rule.step_size * (at.m / denominator);
  return at;
}

} // namespace ballast::gpu
