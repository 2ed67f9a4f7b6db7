#include "data/profile/value_counts.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace ballast::data {

namespace {

constexpr unsigned page_shift = 52; // of the ordered bits: sign and exponent
constexpr unsigned count_shift = 44;
constexpr uint64_t sign_bit = uint64_t{1} << 63;

/// In the order of the numbers.
uint64_t ordered(double value) {
  const auto bits = std::bit_cast<uint64_t>(value + 0.0); // -0 is 0
  return (bits & sign_bit) != 0 ? ~bits : bits | sign_bit;
}

double number_of(uint64_t bits) {
  return std::bit_cast<double>((bits & sign_bit) != 0 ? bits & ~sign_bit
                                                      : ~bits);
}

} // namespace

value_counts::value_counts(const value_counts& other) : origin_(other.origin_) {
  merge(other);
}

value_counts& value_counts::operator=(const value_counts& other) {
  if (this == &other)
    return *this;
  groups_.clear();
  count_ = 0;
  origin_ = other.origin_;
  merge(other);
  return *this;
}

value_counts::page& value_counts::page_of(size_t sign_and_exponent) {
  std::unique_ptr<group>& some = groups_[sign_and_exponent / pages];
  if (!some)
    some = std::make_unique<group>();
  std::unique_ptr<page>& at = (*some)[sign_and_exponent % pages];
  if (!at)
    at = std::make_unique<page>();
  return *at;
}

void value_counts::add(std::span<const double> values) {
  groups_.resize(groups);
  // Most values are of the size of the one before.
  size_t last = SIZE_MAX;
  page* at = nullptr;
  for (const double value : values) {
    const uint64_t bits = ordered(value - origin_);
    if (const size_t which = bits >> page_shift; which != last) {
      at = &page_of(which);
      last = which;
    }
    ++(*at)[bits >> count_shift & (page_size - 1)];
  }
  count_ += values.size();
}

void value_counts::merge(const value_counts& other) {
  if (other.count_ == 0)
    return;
  groups_.resize(groups);
  for (size_t i = 0; i < groups; ++i)
    for (size_t k = 0; other.groups_[i] && k < pages; ++k)
      if (const auto& from = (*other.groups_[i])[k]) {
        page& to = page_of(i * pages + k);
        for (size_t n = 0; n < page_size; ++n)
          to[n] += (*from)[n];
      }
  count_ += other.count_;
}

std::vector<value_counts::bucket> value_counts::buckets() const {
  std::vector<bucket> out;
  for (size_t i = 0; i < groups_.size(); ++i)
    for (size_t k = 0; groups_[i] && k < pages; ++k)
      for (size_t n = 0; (*groups_[i])[k] && n < page_size; ++n)
        if (const uint64_t count = (*(*groups_[i])[k])[n]; count > 0) {
          const uint64_t first = uint64_t(i * pages + k) << page_shift |
                                 uint64_t(n) << count_shift;
          const uint64_t last = first | ((uint64_t{1} << count_shift) - 1);
          out.push_back(
              {origin_ + number_of(first), origin_ + number_of(last), count});
        }
  return out;
}

double origin_of(std::vector<double> values) {
  if (values.empty())
    return 0;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  const double nearest = std::min(std::abs(*least), std::abs(*most));
  if (*least * *most <= 0 || *most - *least > nearest)
    return 0;
  const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

counted_values::counted_values(const value_counts& of, double least,
                               double most, bool whole)
    : buckets_(of.buckets()), count_(of.count()), least_(least), most_(most),
      whole_(whole) {
  uint64_t end = 0;
  for (value_counts::bucket& one : buckets_) {
    one.least = std::clamp(one.least, least, most);
    one.most = std::clamp(one.most, least, most);
    // The only whole number of a bucket is where it begins or ends.
    if (whole && std::ceil(one.least) >= std::floor(one.most))
      one.least = one.most = std::floor(one.most);
    ends_.push_back(end += one.count);
  }
}

double counted_values::quantile(double part) const {
  if (count_ == 0)
    return 0;
  if (part <= 0 || part >= 1)
    return part <= 0 ? least_ : most_;
  const double rank = part * double(count_ - 1);
  const auto found = std::upper_bound(
      ends_.begin(), ends_.end(), rank,
      [](double wanted, uint64_t end) { return wanted < double(end); });
  const auto i =
      size_t(std::min(found, std::prev(ends_.end())) - ends_.begin());
  const value_counts::bucket& one = buckets_[i];
  const double first = double(ends_[i] - one.count);
  const double along =
      one.count == 1 ? 0.5 : (rank - first) / double(one.count - 1);
  return std::clamp(one.least + along * (one.most - one.least), least_, most_);
}

double counted_values::below(double value) const {
  const auto found = std::partition_point(
      buckets_.begin(), buckets_.end(),
      [&](const value_counts::bucket& one) { return one.most < value; });
  const auto i = size_t(found - buckets_.begin());
  const double before = i == 0 ? 0 : double(ends_[i - 1]);
  if (found == buckets_.end() || value <= found->least)
    return before;
  return before + double(found->count) * (value - found->least) /
                      (found->most - found->least);
}

counted_values::histogram counted_values::in_bins(size_t bins_max) const {
  const double span = most_ - least_;
  histogram out{span / double(bins_max), {}};
  // Between the largest numbers of both signs lies more than a number can say.
  const bool wide = std::isinf(span);
  size_t bins = span > 0 && !wide ? bins_max : 1;
  if (whole_ && !wide) {
    out.width = std::max(1.0, std::ceil((span + 1) / double(bins_max)));
    bins = size_t(std::floor(span / out.width)) + 1;
  }
  out.counts.resize(bins);
  for (const value_counts::bucket& one : buckets_) {
    const double middle = one.least + (one.most - one.least) / 2;
    const double at = bins > 1 ? (middle - least_) / out.width : 0;
    out.counts[std::min(bins - 1, size_t(at))] += one.count;
  }
  return out;
}

} // namespace ballast::data
