/// The loops of error feedback. The same bits on every CPU. Pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ballast::gpu {

/// to = gradients + factor * unsent; `to` may be `gradients`.
void add_feedback(const float* gradients, const float* unsent, float factor,
                  float* to, size_t count);
/// Tells apart what differs in a bit, but for one case in 2^32.
uint32_t digest_of_bits(const float* values, size_t count);

} // namespace ballast::gpu
