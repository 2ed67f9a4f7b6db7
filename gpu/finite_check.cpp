#include "gpu/finite_check.hpp"

#include "gpu/kernels/largest_magnitude.hpp"
#include "runtime/base/on_threads.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>

namespace ballast::gpu {

namespace {

/// The place of the largest of these values, and its name; empty: all are
/// finite.
struct finding {
  std::string name;
  float largest = 0;
};

finding worst_of(const std::vector<parameter_info>& parameters,
                 std::span<const float> values) {
  finding out;
  for (const parameter_info& one : parameters) {
    const float here = largest_magnitude(values.data() + one.offset, one.count);
    if (!std::isfinite(here))
      return {one.name, here};
    if (here >= out.largest)
      out = {one.name, here};
  }
  return out;
}

} // namespace

void finite_check::refuse_gradient(ledger::position at, const float* gradients,
                                   double samples) const {
  host_rooms room;
  const finding worst = worst_of(
      model_.parameters(), on_host(device_, gradients, memory_.count, room));
  const std::string step =
      " of step " + to_string(at.step) + " (epoch " + to_string(at.epoch) + ")";
  const std::string what =
      std::isfinite(worst.largest)
          ? "the gradient of '" + worst.name + "'" + step + " is " +
                std::to_string(double(worst.largest) / samples) +
                ", whose square " + to_string(how_.optimizer.kind) +
                " cannot keep in float32"
          : "the gradient of '" + worst.name + "'" + step + " is not finite";
  throw ballast_error(errc::non_finite_gradient,
                      what + "; nothing of it was applied. Scale the features, "
                             "lower train.optimizer.lr, set train.clip_norm, "
                             "or look for broken values in the data");
}

std::string finite_check::damaged_parameter(size_t threads) const {
  host_rooms room;
  const std::span<const float> values =
      on_host(device_, memory_.parameters.get(), memory_.count, room);
  const auto& all = model_.parameters();
  std::atomic<size_t> next{0};
  std::atomic<size_t> first{all.size()}; // with such a value
  const auto some = [&] {
    for (size_t i = next++; i < all.size() && i < first; i = next++)
      if (!std::isfinite(
              largest_magnitude(values.data() + all[i].offset, all[i].count))) {
        size_t before = first;
        while (i < before && !first.compare_exchange_weak(before, i)) {
        }
      }
  };
  on_threads(std::min(threads, all.size()), "bl-digest", some);
  return first < all.size() ? all[first].name : "";
}

/// No checkpoint and no model may contain parameters that an update has driven
/// out of range: the loss of the next step would reveal them, if there is one.
void finite_check::check_parameters(step_number after, size_t threads) const {
  if (const std::string name = damaged_parameter(threads); !name.empty())
    throw ballast_error(errc::non_finite_parameter,
                        "the parameter '" + name +
                            "' is not finite after step " + to_string(after) +
                            "; lower train.optimizer.lr");
}

} // namespace ballast::gpu
