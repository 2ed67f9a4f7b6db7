#include "data/prepared/test_split.hpp"

#include "runtime/base/random.hpp"
#include "runtime/placement/placement.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::data {

namespace {
constexpr uint64_t stream_split = 0x73706c69740001;
}

std::vector<uint64_t> choose_test_rows(std::span<const int32_t> labels,
                                       uint32_t classes, uint64_t rows,
                                       double fraction, uint64_t seed) {
  if (fraction <= 0 || rows < 2)
    return {};
  std::vector<std::vector<uint64_t>> by_class(std::max(classes, 1u));
  for (uint64_t row = 0; row < rows; ++row)
    by_class[labels.empty() ? 0 : size_t(labels[row])].push_back(row);
  std::vector<double> weights;
  for (const std::vector<uint64_t>& members : by_class)
    weights.push_back(double(members.size()));
  const uint64_t wanted =
      std::max<uint64_t>(1, uint64_t(std::llround(fraction * double(rows))));
  const std::vector<uint64_t> counts =
      placement::split_by_shares(wanted, weights);
  std::vector<uint64_t> out;
  for (size_t label = 0; label < by_class.size(); ++label) {
    std::vector<uint64_t>& members = by_class[label];
    if (members.empty())
      continue;
    shuffle(members, counter_random(seed, mix(stream_split, label)));
    const size_t count = std::min<size_t>(counts[label], members.size() - 1);
    out.insert(out.end(), members.begin(), members.begin() + ptrdiff_t(count));
  }
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace ballast::data
