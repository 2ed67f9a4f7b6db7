#include "data/source/normal_numbers.hpp"

#include "runtime/base/vectorized.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ballast::data {

namespace {

/// So many pairs are made at once. All loops over them are without a branch, so
/// that the compiler vectorises them (this file is built with -O3, and without
/// fused multiply-add: the same bits on every machine).
constexpr size_t lanes = 64;

/// Where the pairs of a block come from.
struct origin {
  alignas(64) uint32_t counter[lanes]; // of the pair's first uniform number
  alignas(64) uint32_t stream_low[lanes];
  alignas(64) uint32_t stream_high[lanes];
};

struct pairs {
  alignas(64) float first[lanes];
  alignas(64) float second[lanes];
};

/// Philox4x32-10, as philox4x32() in random.hpp: uniform in [0, 1), 53 bits.
[[gnu::always_inline]] inline void uniform_numbers(const origin& from,
                                                   uint32_t after,
                                                   uint64_t seed,
                                                   double* __restrict out) {
  alignas(64) uint32_t a[lanes];
  alignas(64) uint32_t b[lanes] = {};
  alignas(64) uint32_t c[lanes];
  alignas(64) uint32_t d[lanes];
  for (size_t i = 0; i < lanes; ++i) {
    a[i] = from.counter[i] + after;
    c[i] = from.stream_low[i];
    d[i] = from.stream_high[i];
  }
  auto key_low = uint32_t(seed);
  auto key_high = uint32_t(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (size_t i = 0; i < lanes; ++i) {
      const uint64_t product0 = uint64_t{0xD2511F53} * a[i];
      const uint64_t product1 = uint64_t{0xCD9E8D57} * c[i];
      a[i] = uint32_t(product1 >> 32) ^ b[i] ^ key_low;
      b[i] = uint32_t(product1);
      c[i] = uint32_t(product0 >> 32) ^ d[i] ^ key_high;
      d[i] = uint32_t(product0);
    }
    key_low += 0x9E3779B9;
    key_high += 0xBB67AE85;
  }
  // The upper 53 of 64 bits; each conversion and the sum are exact.
  for (size_t i = 0; i < lanes; ++i)
    out[i] = (double(b[i]) * 0x1p21 + double(a[i] >> 11)) * 0x1p-53;
}

/// Of numbers in [2^-53, 1], within an ulp: FDLIBM's e_log.c.
[[gnu::always_inline]] inline double logarithm(double x) {
  constexpr double ln2_high = 6.93147180369123816490e-01;
  constexpr double ln2_low = 1.90821492927058770002e-10;
  // x = 2^-n z, z in [sqrt(1/2), sqrt(2)).
  constexpr uint64_t sqrt_half = 0x3FE6A09E00000000;
  constexpr uint64_t range = 1024;
  const auto bits = std::bit_cast<uint64_t>(x);
  const uint64_t n = range - ((bits - sqrt_half + (range << 52)) >> 52);
  const double z = std::bit_cast<double>(bits + (n << 52));
  // As a double, without a conversion of 64 bits.
  const double k =
      0x1p52 - std::bit_cast<double>(n | std::bit_cast<uint64_t>(0x1p52));
  const double f = z - 1;
  const double s = f / (2 + f);
  const double w = s * s;
  const double r =
      w * (6.666666666666735130e-01 +
           w * (3.999999999940941908e-01 +
                w * (2.857142874366239149e-01 +
                     w * (2.222219843214978396e-01 +
                          w * (1.818357216161805012e-01 +
                               w * (1.531383769920937332e-01 +
                                    w * 1.479819860511658591e-01))))));
  const double half = 0.5 * f * f;
  return k * ln2_high - ((half - (s * (half + r) + k * ln2_low)) - f);
}

struct on_circle {
  double sine;
  double cosine;
};

/// Of 2 pi `turn`, turn in [0, 1): FDLIBM's k_sin.c and k_cos.c.
[[gnu::always_inline]] inline on_circle circle(double turn) {
  const double quarters = 4 * turn;
  const double next_half = quarters + 0.5;
  const auto quarter = int32_t(next_half); // the nearest
  const double x = (quarters - double(quarter)) * (M_PI / 2);
  const double z = x * x;
  const double s =
      x + x * z *
              (-1.66666666666666324348e-01 +
               z * (8.33333333332248946124e-03 +
                    z * (-1.98412698298579493134e-04 +
                         z * (2.75573137070700676789e-06 +
                              z * (-2.50507602534068634195e-08 +
                                   z * 1.58969099521155010221e-10)))));
  const double c =
      1 -
      (0.5 * z - z * z *
                     (4.16666666666666019037e-02 +
                      z * (-1.38888888888741095749e-03 +
                           z * (2.48015872894767294178e-05 +
                                z * (-2.75573143513906633035e-07 +
                                     z * (2.08757232129817482790e-09 +
                                          z * -1.13596475577881948265e-11))))));
  const bool swapped = (quarter & 1) != 0;
  const double sine = swapped ? c : s;
  const double cosine = swapped ? s : c;
  return {(quarter & 2) != 0 ? -sine : sine,
          ((quarter + 1) & 2) != 0 ? -cosine : cosine};
}

BALLAST_VECTORIZED
void make_pairs(const origin& from, uint64_t seed, pairs& out) {
  alignas(64) double u[lanes];
  alignas(64) double v[lanes];
  uniform_numbers(from, 0, seed, u);
  uniform_numbers(from, 1, seed, v);
  for (size_t i = 0; i < lanes; ++i) {
    const double radius = std::sqrt(-2 * logarithm(1 - u[i]));
    const on_circle at = circle(v[i]);
    out.first[i] = float(radius * at.cosine);
    out.second[i] = float(radius * at.sine);
  }
}

} // namespace

void normal_numbers(uint64_t seed, std::span<const uint64_t> streams,
                    size_t each, std::span<float> out) {
  const size_t pairs_each = (each + 1) / 2;
  const size_t total = streams.size() * pairs_each;
  origin from{};
  pairs made;
  size_t stream = 0;
  size_t pair = 0;
  float* to = out.data();
  size_t written = 0; // of the present stream
  for (size_t begin = 0; begin < total; begin += lanes) {
    const size_t count = std::min(lanes, total - begin);
    for (size_t i = 0; i < count; ++i) {
      from.counter[i] = uint32_t(2 * pair);
      from.stream_low[i] = uint32_t(streams[stream]);
      from.stream_high[i] = uint32_t(streams[stream] >> 32);
      if (++pair == pairs_each) {
        pair = 0;
        ++stream;
      }
    }
    make_pairs(from, seed, made);
    for (size_t i = 0; i < count; ++i) {
      *to++ = made.first[i];
      if (++written < each) {
        *to++ = made.second[i];
        ++written;
      }
      if (written == each)
        written = 0;
    }
  }
}

} // namespace ballast::data
