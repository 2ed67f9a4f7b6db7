#include "runtime/metrics/ranking.hpp"

#include "runtime/metrics/score_sketch.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <utility>

namespace ballast::metrics {

namespace {

constexpr size_t digit_bits = 11;
constexpr size_t digits = size_t{1} << digit_bits;
/// Bits of a key that are sorted one digit after another: few keys are equal in
/// all of these.
constexpr size_t leading_shift = 64 - 3 * digit_bits;

/// Ascending, by the leading bits from the last digit on; keys that share those
/// are then sorted among themselves. Digits that all keys share cost a look.
void sort_keys(std::vector<uint64_t>& keys) {
  std::vector<uint64_t> other(keys.size());
  for (size_t shift = leading_shift; shift < 64; shift += digit_bits) {
    std::array<size_t, digits> begin{};
    for (uint64_t key : keys)
      ++begin[(key >> shift) % digits];
    if (std::find(begin.begin(), begin.end(), keys.size()) != begin.end())
      continue;
    size_t sum = 0;
    for (size_t& count : begin)
      sum += std::exchange(count, sum);
    for (uint64_t key : keys)
      other[begin[(key >> shift) % digits]++] = key;
    keys.swap(other);
  }
  for (auto at = keys.begin(); at != keys.end();) {
    auto end = at + 1;
    while (end != keys.end() && *end >> leading_shift == *at >> leading_shift)
      ++end;
    if (end - at > 1)
      std::sort(at, end);
    at = end;
  }
}

/// Takes rows with equal scores (or in one bin) after another, from the lowest
/// score up.
class ascent {
public:
  void take(uint64_t others, uint64_t own) {
    // Twice, so that a half is whole.
    twice_above_ += own * (2 * others_ + others);
    tied_ += double(own) * double(others);
    others_ += others;
    own_ += own;
  }
  uint64_t own() const { return own_; }
  uint64_t others() const { return others_; }
  /// `ties`: rows of one bin are not known to be equal.
  bounded roc_auc(bool ties) const {
    const double pairs = double(own_) * double(others_);
    return {double(twice_above_) / 2 / pairs, ties ? tied_ / 2 / pairs : 0};
  }

private:
  uint64_t own_ = 0;
  uint64_t others_ = 0;
  uint64_t twice_above_ = 0; // has room for 2^32 rows
  double tied_ = 0;
};

/// Takes them from the highest score down.
class descent {
public:
  explicit descent(uint64_t own) : all_(double(own)) {}
  void take(uint64_t others, uint64_t own) {
    if (own > 0) {
      const double part = double(own) / all_;
      const double at = precision(own_ + own, others_ + others);
      sum_ += part * at;
      // Its own rows above the others of the bin, and below them.
      error_ += part * std::max(precision(own_ + own, others_) - at,
                                at - precision(own_ + 1, others_ + others));
    }
    own_ += own;
    others_ += others;
  }
  bounded average_precision(bool ties) const {
    return {sum_, ties ? error_ : 0};
  }

private:
  static double precision(uint64_t own, uint64_t others) {
    return double(own) / double(own + others);
  }
  double all_;
  uint64_t own_ = 0;
  uint64_t others_ = 0;
  double sum_ = 0;
  double error_ = 0;
};

} // namespace

uint64_t ranked_key(double score, bool own) {
  // + 0: there is no -0 then. The sign has no bit.
  return std::bit_cast<uint64_t>(score + 0.0) << 1 | uint64_t{own};
}

class_ranking rank(std::vector<uint64_t>& keys) {
  sort_keys(keys);
  class_ranking out;
  ascent up;
  const auto groups = [&keys](auto at, auto end, auto take) {
    while (at != end) {
      const uint64_t score = *at >> 1;
      uint64_t count[2] = {0, 0};
      for (; at != end && *at >> 1 == score; ++at)
        ++count[*at & 1];
      take(count[0], count[1]);
    }
  };
  groups(keys.begin(), keys.end(),
         [&up](uint64_t others, uint64_t own) { up.take(others, own); });
  descent down(up.own());
  groups(keys.rbegin(), keys.rend(),
         [&down](uint64_t others, uint64_t own) { down.take(others, own); });
  out.own = up.own();
  out.others = up.others();
  out.roc_auc = up.roc_auc(false);
  out.average_precision = down.average_precision(false);
  return out;
}

class_ranking rank(std::span<const uint64_t> others,
                   std::span<const uint64_t> own) {
  class_ranking out;
  ascent up;
  for (size_t i = 0; i < own.size(); ++i)
    up.take(others[i], own[i]);
  descent down(up.own());
  for (size_t i = own.size(); i-- > 0;)
    down.take(others[i], own[i]);
  out.own = up.own();
  out.others = up.others();
  out.roc_auc = up.roc_auc(true);
  out.average_precision = down.average_precision(true);
  return out;
}

double quantile(std::span<double> numbers, double part) {
  const double place = part * double(numbers.size() - 1);
  const auto low = size_t(place);
  std::nth_element(numbers.begin(), numbers.begin() + ptrdiff_t(low),
                   numbers.end());
  const double a = numbers[low];
  if (low + 1 == numbers.size())
    return a;
  const double b =
      *std::min_element(numbers.begin() + ptrdiff_t(low) + 1, numbers.end());
  return a + (b - a) * (place - double(low));
}

bounded quantile(std::span<const uint64_t> bins, uint32_t bits, double part) {
  uint64_t rows = 0;
  for (uint64_t count : bins)
    rows += count;
  const double place = part * double(rows - 1);
  // The bins of the rows on both sides of the place.
  const auto bin_of = [&bins](double row) {
    size_t at = 0;
    for (double before = 0; at + 1 < bins.size(); ++at) {
      before += double(bins[at]);
      if (before > row)
        break;
    }
    return at;
  };
  const double low = error_bin_begin(bin_of(std::floor(place)), bits);
  const double high = error_bin_begin(bin_of(std::ceil(place)) + 1, bits);
  return {(low + high) / 2, (high - low) / 2};
}

} // namespace ballast::metrics
