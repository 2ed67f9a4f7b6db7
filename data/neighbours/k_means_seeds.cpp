#include "data/neighbours/k_means.hpp"

#include "data/neighbours/block_kernels.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ballast::data {

namespace {

/// Of a point that has become nearer to a centre.
struct nearer {
  size_t place = 0; // in the order of the blocks
  double squared = 0;
};

/// One more centre, tried: what it would change.
struct trial {
  size_t place = 0;
  double gain = 0;
  std::vector<nearer> changed;
};

/// Draws rows one after another, each with a probability in proportion to the
/// squared distance to those before it.
class seeding {
public:
  seeding(const class_index& index, uint32_t of_class,
          const counter_random& random)
      : index_(index), blocks_(index.blocks_of(of_class)), random_(random),
        dimensions_(index.space().dimensions()),
        squared_(blocks_.size(), std::numeric_limits<double>::infinity()),
        sums_(blocks_.blocks()), limits_(blocks_.blocks()),
        query_(dimensions_ * block_width), low_(dimensions_),
        distances_(block_width * block_width) {}

  std::vector<uint32_t> run(size_t centres, const work_terms& how) {
    const size_t trials = 2 + size_t(std::log(double(centres)));
    std::vector<uint32_t> out;
    std::fill(limits_.begin(), limits_.end(),
              std::numeric_limits<float>::infinity());
    while (out.size() < centres) {
      store::check_stop(how.stop);
      trial best;
      for (size_t i = 0; i < (out.empty() ? 1 : trials); ++i) {
        trial one = tried(out.empty() ? first() : drawn());
        if (i == 0 || one.gain > best.gain)
          best = std::move(one);
      }
      for (const nearer& one : best.changed)
        squared_[one.place] = one.squared;
      update(best);
      out.push_back(blocks_.rows()[best.place]);
    }
    return out;
  }

private:
  size_t first() { return random_.below(blocks_.size(), next_++); }

  size_t drawn() {
    double total = 0;
    for (const double one : sums_)
      total += one;
    double left = random_.unit(next_++) * total;
    for (size_t b = 0; b < sums_.size(); ++b) {
      if (left >= sums_[b]) {
        left -= sums_[b];
        continue;
      }
      const size_t end = std::min((b + 1) * block_width, blocks_.size());
      for (size_t i = b * block_width; i < end; ++i) {
        if (left < squared_[i])
          return i;
        left -= squared_[i];
      }
    }
    // Rounding has left something, or all points are centres already.
    return first();
  }

  trial tried(size_t place) {
    trial out{.place = place, .gain = 0, .changed = {}};
    const float* from =
        blocks_.block(place / block_width) + place % block_width;
    for (size_t t = 0; t < dimensions_; ++t)
      low_[t] = query_[t * block_width] = from[t * block_width];
    float furthest = 0;
    for (const float one : limits_)
      furthest = std::max(furthest, one);
    for (size_t super = 0; super < blocks_.supers(); ++super) {
      float apart[group_width];
      const box_group boxes = blocks_.boxes_of_super(super);
      box_distances(low_.data(), low_.data(), boxes.low, boxes.high,
                    dimensions_, apart);
      for (size_t i = 0; i < group_width; ++i)
        if (super * group_width + i < blocks_.groups() && apart[i] <= furthest)
          look_into_group(super * group_width + i, out);
    }
    return out;
  }

  void look_into_group(size_t group, trial& out) {
    float apart[group_width];
    const box_group boxes = blocks_.boxes_of_group(group);
    box_distances(low_.data(), low_.data(), boxes.low, boxes.high, dimensions_,
                  apart);
    for (size_t i = 0; i < group_width; ++i) {
      const size_t block = group * group_width + i;
      if (block < blocks_.blocks() && apart[i] <= limits_[block])
        look_into_block(block, out);
    }
  }

  void look_into_block(size_t block, trial& out) {
    float limits[block_width];
    std::fill_n(limits, block_width, -1.0F);
    limits[0] = limits_[block];
    const box_group boxes = blocks_.boxes_of_group(block / group_width);
    uint32_t masks[block_width];
    const uint32_t any =
        points_within({.dimensions = dimensions_,
                       .queries = query_.data(),
                       .points = blocks_.block(block),
                       .low = boxes.low + block % group_width,
                       .high = boxes.high + block % group_width,
                       .limits = limits},
                      distances_.data(), masks);
    const uint32_t row = blocks_.rows()[out.place];
    const point_view& points = index_.points();
    for (uint32_t near = any == 0 ? 0 : masks[0]; near != 0; near &= near - 1) {
      const auto lane = size_t(std::countr_zero(near));
      const size_t place = block * block_width + lane;
      if (place >= blocks_.size())
        break;
      const double squared = squared_distance(
          points.at(row), points.at(blocks_.rows()[place]), points.columns);
      if (squared < squared_[place]) {
        out.gain += std::isinf(squared_[place]) ? 0 : squared_[place] - squared;
        out.changed.push_back({place, squared});
      }
    }
  }

  /// Sums and limits of the blocks in which something has changed.
  void update(const trial& best) {
    size_t last = SIZE_MAX;
    for (const nearer& one : best.changed) {
      const size_t block = one.place / block_width;
      if (block == last)
        continue;
      last = block;
      const size_t end = std::min((block + 1) * block_width, blocks_.size());
      double sum = 0, most = 0;
      for (size_t i = block * block_width; i < end; ++i) {
        sum += squared_[i];
        most = std::max(most, squared_[i]);
      }
      sums_[block] = sum;
      limits_[block] = index_.space().limit(most, 1);
    }
  }

  const class_index& index_;
  const point_blocks& blocks_;
  const counter_random random_;
  const size_t dimensions_;
  std::vector<double> squared_; // of each place
  std::vector<double> sums_;    // of each block
  std::vector<float> limits_;   // of each block: its largest
  uint64_t next_ = 0;
  // Scratch.
  std::vector<float> query_, low_, distances_;
};

} // namespace

std::vector<uint32_t> k_means_seeds(const class_index& index, uint32_t of_class,
                                    size_t centres,
                                    const counter_random& random,
                                    const work_terms& how) {
  return seeding(index, of_class, random).run(centres, how);
}

} // namespace ballast::data
