/// Histograms of scores and errors with narrow bins where those are near 0 (or
/// near 1), for metrics of more rows than can be sorted. A bin is found by the
/// first bits of the number, so it costs no logarithm. Pure functions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace ballast::metrics {

/// Bins for a factor of 2, as a power of 2.
constexpr uint32_t sketch_bits_max = 8;

/// Smaller numbers share a bin; of errors those beyond the high end, too.
constexpr int probability_exponent_min = -24;
constexpr int error_exponent_min = -64;
constexpr int error_exponent_max = 64;

/// Exponent and first `bits` bits of the fraction, so that it ascends with the
/// number. For numbers that are not negative.
constexpr uint64_t leading_bits(double number, uint32_t bits) {
  return std::bit_cast<uint64_t>(number) >> (52 - bits);
}
/// Of 2^exponent.
constexpr uint64_t leading_bits_of(int exponent, uint32_t bits) {
  return uint64_t(exponent + 1023) << bits;
}

/// Bins below 0.5; as many are above it, and one begins with it.
constexpr size_t bins_below_half(uint32_t bits) {
  return 1 + (size_t(-1 - probability_exponent_min) << bits);
}
constexpr size_t probability_bins(uint32_t bits) {
  return 2 * bins_below_half(bits) + 1;
}

/// Of a probability: ascending, symmetric about 0.5.
constexpr size_t probability_bin(double p, uint32_t bits) {
  const bool above = p >= 0.5;
  const double q = above ? 1 - p : p; // exact
  const uint64_t first = leading_bits_of(probability_exponent_min, bits);
  const uint64_t leading = leading_bits(q, bits);
  const size_t half = bins_below_half(bits);
  size_t at = leading < first ? 0 : size_t(leading - first) + 1;
  at = at < half ? at : half; // NaN: the middle
  return above ? probability_bins(bits) - 1 - at : at;
}

constexpr size_t error_bins(uint32_t bits) {
  return 2 + (size_t(error_exponent_max - error_exponent_min) << bits);
}

/// Of an absolute error, which may be infinite or NaN: the last bin.
constexpr size_t error_bin(double error, uint32_t bits) {
  const uint64_t first = leading_bits_of(error_exponent_min, bits);
  const uint64_t leading = leading_bits(error, bits);
  if (leading < first)
    return 0;
  const size_t at = size_t(leading - first) + 1;
  return at < error_bins(bits) ? at : error_bins(bits) - 1;
}

/// Where the bin of an error begins.
constexpr double error_bin_begin(size_t bin, uint32_t bits) {
  if (bin == 0)
    return 0;
  return std::bit_cast<double>(
      (leading_bits_of(error_exponent_min, bits) + (bin - 1)) << (52 - bits));
}

} // namespace ballast::metrics
