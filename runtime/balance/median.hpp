/// The median: a mean that a few outliers do not move.
#pragma once

#include <algorithm>
#include <vector>

namespace ballast::balance {

/// The upper of the two in the middle; 0 of an empty list.
template <class Number>
Number median(std::vector<Number> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

} // namespace ballast::balance
