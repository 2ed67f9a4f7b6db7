#include "data/profile/table_profile.hpp"

#include <cmath>

namespace ballast::data {

outliers outliers_of(const number_profile& of) {
  constexpr double reach = 1.5;
  const counted_values ranked = of.ranked();
  outliers out;
  if (ranked.count() == 0)
    return out;
  const double lower = ranked.quantile(0.25);
  const double upper = ranked.quantile(0.75);
  out.low = lower - reach * (upper - lower);
  out.high = upper + reach * (upper - lower);
  if (of.spread.least < out.low)
    out.below = uint64_t(std::llround(ranked.below(out.low)));
  if (of.spread.most > out.high)
    out.above = ranked.count() -
                uint64_t(std::llround(ranked.below(std::nextafter(
                    out.high, std::numeric_limits<double>::infinity()))));
  return out;
}

} // namespace ballast::data
