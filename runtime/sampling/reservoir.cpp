#include "runtime/sampling/reservoir.hpp"

#include "runtime/base/check.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace ballast::sampling {

namespace {

bool key_below(const weighted_reservoir::kept& a,
               const weighted_reservoir::kept& b) {
  return std::tie(a.key, a.row) < std::tie(b.key, b.row);
}

/// `count` of the places 0 to `places` - 1, in order: Fisher and Yates.
std::vector<uint64_t> some_places(uint64_t places, uint64_t count,
                                  const counter_random& random,
                                  uint64_t& used) {
  std::vector<uint64_t> out(places);
  std::iota(out.begin(), out.end(), 0);
  for (uint64_t i = 0; i < count; ++i)
    std::swap(out[i], out[i + random.below(places - i, used++)]);
  out.resize(count);
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace

uniform_reservoir::uniform_reservoir(uint64_t rows, counter_random random)
    : rows_(rows), random_(random) {
  BALLAST_CHECK(rows > 0, "a reservoir of no rows");
}

void uniform_reservoir::take() {
  if (++place_ < rows_ && next_ + 1 < rows_) {
    ++next_; // the first ones fill it
    return;
  }
  log_w_ += std::log(unit_above_0()) / double(rows_);
  // log1p(-exp(log_w)) is log(1 - w), which is 0 once w is too small: then no
  // row of any stream gets in.
  const double skipped =
      std::floor(std::log(unit_above_0()) / std::log1p(-std::exp(log_w_)));
  constexpr double far = 0x1p63;
  next_ = skipped < far && next_ < uint64_t{1} << 63
              ? next_ + uint64_t(skipped) + 1
              : UINT64_MAX;
  place_ = random_.below(rows_, used_++);
}

std::vector<sampled_from> merge_uniform(uint64_t rows, uint64_t seen_first,
                                        uint64_t seen_second,
                                        const counter_random& random) {
  BALLAST_CHECK(seen_first <= UINT64_MAX - seen_second, "more rows than fit");
  const uint64_t count = std::min(rows, seen_first + seen_second);
  uint64_t used = 0, of_first = 0;
  // How many of a draw without replacement come from the first stream.
  for (uint64_t i = 0; i < count; ++i)
    of_first += random.below(seen_first + seen_second - i, used++) <
                        seen_first - of_first
                    ? 1
                    : 0;
  std::vector<sampled_from> out;
  out.reserve(count);
  for (uint64_t place :
       some_places(std::min(rows, seen_first), of_first, random, used))
    out.push_back({false, place});
  for (uint64_t place :
       some_places(std::min(rows, seen_second), count - of_first, random, used))
    out.push_back({true, place});
  return out;
}

weighted_reservoir::weighted_reservoir(uint64_t rows, counter_random random)
    : rows_(rows), random_(random) {
  BALLAST_CHECK(rows > 0, "a reservoir of no rows");
}

uint64_t weighted_reservoir::offer(uint64_t row, double weight) {
  BALLAST_CHECK(weight >= 0 && std::isfinite(weight),
                "a weight is negative or not finite");
  if (!(weight > 0))
    return passed;
  if (heap_.size() < rows_) {
    const uint64_t place =
        put(-std::log(1 - random_.unit(used_++)) / weight, row);
    if (heap_.size() == rows_)
      next_jump();
    return place;
  }
  jump_ -= weight;
  if (jump_ > 0)
    return passed;
  // A key below the largest: exponential, cut off there.
  const double below = -std::expm1(-largest() * weight);
  const double key = -std::log1p(-random_.unit(used_++) * below) / weight;
  const uint64_t place = put(std::min(key, largest()), row);
  next_jump();
  return place;
}

/// The least of exponential keys over weight x falls below t with probability
/// 1 - e^(-t x): so much weight passes before.
void weighted_reservoir::next_jump() {
  jump_ = -std::log(1 - random_.unit(used_++)) / largest();
}

uint64_t weighted_reservoir::put(double key, uint64_t row) {
  uint64_t place = heap_.size();
  if (place == rows_) {
    place = heap_.front().place;
    std::pop_heap(heap_.begin(), heap_.end(), key_below);
    heap_.pop_back();
  }
  heap_.push_back({key, row, place});
  std::push_heap(heap_.begin(), heap_.end(), key_below);
  return place;
}

std::vector<weighted_reservoir::kept> weighted_reservoir::sample() const {
  std::vector<kept> out = heap_;
  std::sort(out.begin(), out.end(),
            [](const kept& a, const kept& b) { return a.place < b.place; });
  return out;
}

std::vector<merged_place>
merge_weighted(uint64_t rows,
               std::span<const std::vector<weighted_reservoir::kept>> samples) {
  std::vector<std::pair<double, merged_place>> all;
  for (size_t i = 0; i < samples.size(); ++i)
    for (const weighted_reservoir::kept& one : samples[i])
      all.push_back({one.key, {i, one.place}});
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::tie(a.first, a.second.stream, a.second.place) <
           std::tie(b.first, b.second.stream, b.second.place);
  });
  std::vector<merged_place> out;
  for (size_t i = 0; i < all.size() && i < rows; ++i)
    out.push_back(all[i].second);
  return out;
}

} // namespace ballast::sampling
