/// topk: each rank sends the values of the largest magnitude, with their
/// places; the rest is left for later steps. 8 bytes a value to each other
/// rank. In the first steps, when every value counts, it sends more: a quarter
/// of the values, then a quarter of that, and so on (as in Deep Gradient
/// Compression, Lin et al. 2018).
#include "gpu/reduction/codec.hpp"
#include "gpu/reduction/largest_values.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ballast::gpu {

namespace {

struct entry {
  uint32_t place;
  float value;
};

/// Quarters only: exact, so equal on all CPUs.
double part_in(step_number step, double ratio, uint64_t warmup_steps) {
  if (value(step) > warmup_steps)
    return ratio;
  uint64_t stages = 0;
  for (double part = 0.25; part > ratio; part /= 4)
    ++stages;
  const auto stage =
      uint64_t(double(value(step) - 1) * double(stages) / double(warmup_steps));
  return std::max(ratio, std::ldexp(0.25, -2 * int(stage)));
}

class topk_codec final : public codec {
public:
  topk_codec(double ratio, uint64_t warmup_steps)
      : ratio_(ratio), warmup_steps_(warmup_steps) {}

  void exchange(size_t, float* values, float* left, size_t count,
                const exchange_among& how) override {
    const auto ranks = size_t(how.group.size());
    const auto me = size_t(how.group.rank());
    const double part = part_in(how.step, ratio_, warmup_steps_);
    const size_t each =
        std::clamp<size_t>(size_t(std::ceil(part * double(count))), 1, count);
    largest_values(values, count, each, places_);
    entries_.resize(ranks * each);
    std::copy_n(values, count, left);
    for (size_t i = 0; i < each; ++i) {
      const uint32_t at = places_[i];
      entries_[me * each + i] = {at, values[at]};
      left[at] = 0;
    }
    how.group.all_gather(entries_.data(),
                         entries_.size() * sizeof(entry) / sizeof(float),
                         collectives::element_type::float32, how.until);
    std::fill_n(values, count, 0.0F);
    for (const entry& one : entries_) // by rank, so in one order everywhere
      if (one.place < count)
        values[one.place] += one.value;
  }

private:
  const double ratio_;
  const uint64_t warmup_steps_;
  std::vector<uint32_t> places_;
  std::vector<entry> entries_; // by rank
};

} // namespace

std::unique_ptr<codec> make_topk_codec(double ratio, uint64_t warmup_steps) {
  return std::make_unique<topk_codec>(ratio, warmup_steps);
}

} // namespace ballast::gpu
