/// Normal numbers in bulk, several at once, for synthetic rows. Those of
/// runtime/base/random.hpp (Philox, Box and Muller), with a logarithm, a sine
/// and a cosine of our own: the ones of C libraries differ in their last bits
/// from machine to machine, these do not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ballast::data {

/// `out` has `each` numbers for each stream: 0, 1, ... of it, mean 0,
/// deviation 1. Precondition: out.size() == streams.size() * each, and each is
/// less than 2^31.
void normal_numbers(uint64_t seed, std::span<const uint64_t> streams,
                    size_t each, std::span<float> out);

} // namespace ballast::data
