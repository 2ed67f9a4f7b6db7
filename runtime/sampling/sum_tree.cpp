#include "runtime/sampling/sum_tree.hpp"

#include "runtime/base/check.hpp"
#include "runtime/base/vectorized.hpp"

#include <algorithm>
#include <cmath>

namespace ballast::sampling {

namespace {

void check_weight(double weight) {
  BALLAST_CHECK(weight >= 0 && std::isfinite(weight),
                "a weight is negative or not finite");
}

/// Both lines.
template <class Node>
void prefetch(const Node& node) {
  __builtin_prefetch(&node, 1);
  __builtin_prefetch(&node.of[8], 1);
}

using four = double __attribute__((vector_size(32)));
using four_weights = four __attribute__((may_alias)); // where they lie
using mask = int64_t __attribute__((vector_size(32)));

/// Takes what comes first off `from` where it lies behind that, unless nothing
/// comes behind: rounding may lead past the end of the parts, but never to what
/// is 0. All lanes are equal. Without branches, which would be guessed wrongly
/// half of the time.
[[gnu::always_inline]] inline void go_on(four& from, const four& first,
                                         const four& second, mask& out) {
  out = (from >= first) & (second > 0);
  from -= out ? first : four{};
}

} // namespace

/// 16 weights and their sums, in registers alone: what is stored in parts and
/// loaded as a whole, or the other way round, stalls. A tree of pairs: halves,
/// vectors, halves of vectors, weights.
struct sum_tree::node::parts {
  [[gnu::always_inline]] explicit parts(const node& at)
      : parts(*reinterpret_cast<const four_weights (*)[width / 4]>(&at.of)) {}
  [[gnu::always_inline]] explicit parts(const four_weights (&at)[width / 4])
      : of{at[0], at[1], at[2], at[3]} {
    const four low = __builtin_shufflevector(of[0], of[1], 0, 4, 2, 6) +
                     __builtin_shufflevector(of[0], of[1], 1, 5, 3, 7);
    const four high = __builtin_shufflevector(of[2], of[3], 0, 4, 2, 6) +
                      __builtin_shufflevector(of[2], of[3], 1, 5, 3, 7);
    vectors = __builtin_shufflevector(low, high, 0, 1, 4, 5) +
              __builtin_shufflevector(low, high, 2, 3, 6, 7);
    halves = vectors + __builtin_shufflevector(vectors, vectors, 1, 0, 3, 2);
  }

  four of[width / 4];
  four vectors; // the sum of each
  four halves;  // the first, again, the second, again
};

[[gnu::always_inline]] inline double sum_tree::node::sum() const {
  const parts has(*this);
  return has.halves[0] + has.halves[2];
}

[[gnu::always_inline]] inline size_t
sum_tree::node::child_at(double& from) const {
  const parts has(*this);
  four left = four{} + from;
  mask half{};
  go_on(left, __builtin_shufflevector(has.halves, has.halves, 0, 0, 0, 0),
        __builtin_shufflevector(has.halves, has.halves, 2, 2, 2, 2), half);
  const four sums =
      half ? __builtin_shufflevector(has.vectors, has.vectors, 2, 3, 2, 3)
           : __builtin_shufflevector(has.vectors, has.vectors, 0, 1, 0, 1);
  mask vector{};
  go_on(left, __builtin_shufflevector(sums, sums, 0, 0, 2, 2),
        __builtin_shufflevector(sums, sums, 1, 1, 3, 3), vector);
  const four first = half ? has.of[2] : has.of[0];
  const four second = half ? has.of[3] : has.of[1];
  const four here = vector ? second : first;
  const four pairs = here + __builtin_shufflevector(here, here, 1, 0, 3, 2);
  mask pair{};
  go_on(left, __builtin_shufflevector(pairs, pairs, 0, 0, 0, 0),
        __builtin_shufflevector(pairs, pairs, 2, 2, 2, 2), pair);
  const four two = pair ? __builtin_shufflevector(here, here, 2, 3, 2, 3)
                        : __builtin_shufflevector(here, here, 0, 1, 0, 1);
  mask one{};
  go_on(left, __builtin_shufflevector(two, two, 0, 0, 2, 2),
        __builtin_shufflevector(two, two, 1, 1, 3, 3), one);
  from = left[0];
  return size_t(((half & 8) | (vector & 4) | (pair & 2) | (one & 1))[0]);
}

sum_tree::sum_tree(size_t weights) : size_(weights) {
  BALLAST_CHECK(weights > 0, "a sum tree of nothing");
  for (size_t nodes = weights; nodes > 1 || levels_.empty();) {
    nodes = (nodes + width - 1) / width;
    levels_.emplace_back(nodes);
  }
}

sum_tree::sum_tree(std::span<const double> weights) : sum_tree(weights.size()) {
  for (size_t i = 0; i < size_; ++i) {
    check_weight(weights[i]);
    levels_.front()[i / width].of[i % width] = weights[i];
  }
  sum_up();
}

double sum_tree::total() const {
  return levels_.back().front().sum();
}

void sum_tree::sum_up() {
  for (size_t level = 1; level < levels_.size(); ++level)
    for (size_t i = 0; i < levels_[level - 1].size(); ++i)
      levels_[level][i / width].of[i % width] = levels_[level - 1][i].sum();
}

BALLAST_VECTORIZED void sum_tree::set(std::span<const size_t> at,
                                      std::span<const double> weights) {
  BALLAST_CHECK(at.size() == weights.size(), "not a weight for each place");
  constexpr size_t together = 64;
  std::array<size_t, together> nodes;
  for (size_t done = 0; done < at.size();) {
    const size_t count = std::min(together, at.size() - done);
    for (size_t i = 0; i < count; ++i)
      prefetch(levels_.front()[at[done + i] / width]);
    for (size_t i = 0; i < count; ++i) {
      const size_t one = at[done + i];
      check_weight(weights[done + i]);
      BALLAST_CHECK(one < size_, "no such weight");
      levels_.front()[one / width].of[one % width] = weights[done + i];
      nodes[i] = one / width;
    }
    std::sort(nodes.begin(), nodes.begin() + std::ptrdiff_t(count));
    size_t different = count;
    for (size_t level = 1; level < levels_.size(); ++level) {
      different =
          size_t(std::unique(nodes.begin(),
                             nodes.begin() + std::ptrdiff_t(different)) -
                 nodes.begin());
      for (size_t i = 0; i < different; ++i)
        prefetch(levels_[level][nodes[i] / width]);
      for (size_t i = 0; i < different; ++i) {
        const size_t node = nodes[i];
        levels_[level][node / width].of[node % width] =
            levels_[level - 1][node].sum();
        nodes[i] = node / width;
      }
    }
    done += count;
  }
}

BALLAST_VECTORIZED void sum_tree::draw(std::span<const double> units,
                                       std::span<size_t> out) const {
  BALLAST_CHECK(units.size() == out.size(), "not a place for each draw");
  const double all = total();
  BALLAST_CHECK(all > 0, "nothing above 0 to draw");
  constexpr size_t together = 64;
  std::array<double, together> from;
  for (size_t done = 0; done < units.size();) {
    const size_t count = std::min(together, units.size() - done);
    size_t* at = &out[done];
    for (size_t i = 0; i < count; ++i) {
      from[i] = units[done + i] * all;
      at[i] = 0;
    }
    for (size_t level = levels_.size(); level-- > 0;)
      for (size_t i = 0; i < count; ++i) {
        at[i] = at[i] * width + levels_[level][at[i]].child_at(from[i]);
        if (level > 0)
          prefetch(levels_[level - 1][at[i]]);
      }
    done += count;
  }
}

// Behind the functions of several versions that they call, as Clang wants it.

void sum_tree::set(size_t at, double weight) {
  set({&at, 1}, {&weight, 1});
}

size_t sum_tree::draw(double unit) const {
  size_t out = 0;
  draw({&unit, 1}, {&out, 1});
  return out;
}

} // namespace ballast::sampling
