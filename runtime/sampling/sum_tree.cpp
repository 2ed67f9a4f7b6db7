#include "runtime/sampling/sum_tree.hpp"

#include "runtime/base/check.hpp"
#include "runtime/base/vectorized.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

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

} // namespace

/// The sums of what is 8, 4, 2 and 1 apart: a tree of pairs over 16 weights. In
/// vectors by hand, because what is stored in parts and loaded as a whole
/// stalls.
struct sum_tree::node::pairs {
  using four = double __attribute__((vector_size(32)));

  [[gnu::always_inline]] explicit pairs(const node& at) {
    four parts[width / 4];
    static_assert(sizeof parts == sizeof at.of);
    std::memcpy(parts, at.of.data(), sizeof parts);
    of_8[0] = parts[0] + parts[2];
    of_8[1] = parts[1] + parts[3];
    of_4 = of_8[0] + of_8[1];
    of_2[0] = of_4[0] + of_4[2];
    of_2[1] = of_4[1] + of_4[3];
  }

  four of_8[2], of_4; // 8 and 4 sums
  double of_2[2];
};

[[gnu::always_inline]] inline double sum_tree::node::sum() const {
  const pairs sums(*this);
  return sums.of_2[0] + sums.of_2[1];
}

/// Without branches, which would be guessed wrongly half of the time. Rounding
/// may lead past the end of the parts, but never to what is 0.
[[gnu::always_inline]] inline size_t
sum_tree::node::child_at(double& from) const {
  const pairs sums(*this);
  size_t at = 0;
  const auto choose = [&](double first, double second, size_t far) {
    const bool go_on = (from >= first) & (second > 0);
    from -= double(go_on) * first;
    at += size_t(go_on) * far;
  };
  choose(sums.of_2[0], sums.of_2[1], 1);
  choose(sums.of_4[at], sums.of_4[at + 2], 2);
  choose(sums.of_8[0][at], sums.of_8[1][at], 4);
  choose(of[at], of[at + 8], 8);
  return at;
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
