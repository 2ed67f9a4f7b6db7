/// A sample of fixed size from a stream whose length nobody knows before its
/// end. Both kinds say which rows are wanted, so that what lies between is
/// skipped without a look; keeping the rows themselves is the caller's. Values:
/// the same seed gives the same sample.
///
/// Uniform: Vitter's R (doi:10.1145/3147.3165) for comparison, Li's L
/// (doi:10.1145/198429.198435). Weighted, without replacement: Efraimidis and
/// Spirakis, A-Res and A-ExpJ (doi:10.1016/j.ipl.2005.11.003), with the key
/// -ln(u)/w, of which the smallest win: u^(1/w) is 0 for small weights.
#pragma once

#include "runtime/base/random.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::sampling {

/// Every row has the same chance; O(k (1 + log(n/k))).
class uniform_reservoir {
public:
  /// Precondition: rows > 0.
  uniform_reservoir(uint64_t rows, counter_random random);

  /// The next row of the stream, counted from 0, that gets in, and where: it
  /// takes the place of the one there.
  uint64_t next_row() const { return next_; }
  uint64_t next_place() const { return place_; }
  /// It got in.
  void take();

private:
  uint64_t rows_;
  counter_random random_;
  uint64_t used_ = 0; // numbers of the stream of `random`
  double log_w_ = 0;  // of the largest key in the sample, if keys were kept
  uint64_t next_ = 0;
  uint64_t place_ = 0;

  double unit_above_0() { return 1 - random_.unit(used_++); }
};

/// A row of a sample of two streams: one of a row of the first sample, or the
/// second, by its place there.
struct sampled_from {
  bool second = false;
  uint64_t place = 0;
  bool operator==(const sampled_from&) const = default;
};

/// A uniform sample of both streams of `rows` rows, or of all there are, from
/// uniform samples of each that hold as many of their `seen` rows, in the order
/// of the places; the first's before the second's.
std::vector<sampled_from> merge_uniform(uint64_t rows, uint64_t seen_first,
                                        uint64_t seen_second,
                                        const counter_random& random);

/// The chance of a row to be drawn next is its weight's share of those left.
class weighted_reservoir {
public:
  struct kept {
    double key = 0; // the smallest win; equal ones by row
    uint64_t row = 0;
    uint64_t place = 0;
    bool operator==(const kept&) const = default;
  };

  /// Precondition: rows > 0.
  weighted_reservoir(uint64_t rows, counter_random random);

  /// Shows the weight of row number `row`; rows come in order. The place it
  /// gets, or `passed`. Weight 0 never gets in; negative or not finite ones
  /// break a precondition.
  static constexpr uint64_t passed = UINT64_MAX;
  uint64_t offer(uint64_t row, double weight);

  /// The sample, in the order of the places.
  std::vector<kept> sample() const;

private:
  double largest() const { return heap_.front().key; }
  uint64_t put(double key, uint64_t row);
  void next_jump();

  uint64_t rows_;
  counter_random random_;
  uint64_t used_ = 0;
  std::vector<kept> heap_; // the largest key first
  double jump_ = 0;        // weight that passes until one gets in
};

/// Of samples of several streams that hold up to `rows` rows each, that of all:
/// the `rows` smallest keys. Precondition: no two streams have used the same
/// random numbers. Returns the index of the stream and the place in it, by key.
struct merged_place {
  size_t stream = 0;
  uint64_t place = 0;
  bool operator==(const merged_place&) const = default;
};
std::vector<merged_place>
merge_weighted(uint64_t rows,
               std::span<const std::vector<weighted_reservoir::kept>> samples);

} // namespace ballast::sampling
