/// Draws with weights that change: a tree whose inner nodes are the sums of
/// what is below them. A node is always summed anew from its children, in
/// their order, so it is a function of the weights as they are, whatever they
/// were before: no error grows, and equal weights give equal draws.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ballast::sampling {

class sum_tree {
public:
  /// All weights are 0.
  explicit sum_tree(size_t weights);
  /// Precondition, here and below: no weight is negative or not finite.
  explicit sum_tree(std::span<const double> weights);

  size_t size() const { return size_; }
  double total() const;
  double weight(size_t at) const {
    return levels_.front()[at / width].of[at % width];
  }
  void set(size_t at, double weight);
  /// As one after the other; many at once are faster, because what they touch
  /// is fetched side by side, and sums that they share are made once.
  void set(std::span<const size_t> at, std::span<const double> weights);

  /// The weight in whose part of [0, total()) the fraction `unit` of it lies;
  /// never one of 0. The parts lie in an order of their own. Precondition:
  /// 0 <= unit < 1, total() > 0.
  size_t draw(double unit) const;
  /// Likewise, for each of `units`.
  void draw(std::span<const double> units, std::span<size_t> out) const;

private:
  /// Two lines of the cache.
  static constexpr size_t width = 16;
  struct alignas(64) node {
    std::array<double, width> of{};
    double sum() const;
    /// Takes what is before the child off `from`.
    size_t child_at(double& from) const;
    struct parts;
  };

  void sum_up();

  size_t size_ = 0;
  std::vector<std::vector<node>> levels_; // the weights, ..., the root
};

} // namespace ballast::sampling
