#include "gpu/kernels/optimizer_rule.hpp"

#include "gpu/optimizer.hpp"
#include "runtime/job/job.hpp"

#include <cmath>
#include <limits>

namespace ballast::gpu {

sgd_rule make_sgd_rule(const optimizer_spec& spec, double gradient_scale,
                       double lr) {
  return {float(gradient_scale), float(lr), float(spec.momentum),
          float(spec.weight_decay)};
}

adam_rule make_adam_rule(const optimizer_spec& spec, double gradient_scale,
                         double lr, uint64_t step) {
  const bool decoupled = spec.kind == optimizer_kind::adamw;
  const double correction1 = 1 - std::pow(spec.beta1, double(step));
  const double correction2 = 1 - std::pow(spec.beta2, double(step));
  return {.gradient_scale = float(gradient_scale),
          .step_size = float(lr / correction1),
          .inverse_root_2 = float(1 / std::sqrt(correction2)),
          .one_minus_beta1 = float(1 - spec.beta1),
          .beta2 = float(spec.beta2),
          .one_minus_beta2 = float(1 - spec.beta2),
          .eps = float(spec.eps),
          .l2 = decoupled ? 0.0F : float(spec.weight_decay),
          .shrink = decoupled ? float(1 - lr * spec.weight_decay) : 1.0F};
}

double largest_gradient(const optimizer_spec& spec) {
  const double most = std::numeric_limits<float>::max();
  return spec.kind == optimizer_kind::sgd ? most : std::sqrt(most);
}

} // namespace ballast::gpu
