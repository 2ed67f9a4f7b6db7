#include "data/neighbours/k_means.hpp"

#include "data/neighbours/block_kernels.hpp"
#include "runtime/base/check.hpp"

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

/// Less is done before another thread has begun.
constexpr size_t supers_min = 8;

/// Draws rows one after another, each with a probability in proportion to the
/// squared distance to those before it. Of a step's draws the one stays that
/// gains most: all of them are compared with the points in one pass, which
/// reads the points once.
class seeding {
public:
  seeding(const class_index& index, uint32_t of_class,
          const counter_random& random, const work_terms& how)
      : index_(index), blocks_(index.blocks_of(of_class)), random_(random),
        how_(how), dimensions_(index.space().dimensions()),
        squared_(blocks_.size(), std::numeric_limits<double>::infinity()),
        nearer_than_(blocks_.blocks() * block_width,
                     std::numeric_limits<float>::infinity()),
        sums_(blocks_.blocks()), up_to_(blocks_.blocks()),
        limits_(blocks_.blocks(), std::numeric_limits<float>::infinity()),
        queries_(dimensions_ * block_width), places_(block_width),
        changed_(blocks_.supers()) {
    if (blocks_.supers() < supers_min)
      how_.threads = 1;
  }

  std::vector<uint32_t> run(size_t centres) {
    const size_t trials = 2 + size_t(std::log(double(centres)));
    BALLAST_CHECK(trials <= block_width, "more rows than memory has");
    std::vector<uint32_t> out;
    while (out.size() < centres) {
      store::check_stop(how_.stop);
      add_up();
      trials_.clear();
      for (size_t i = 0; i < (out.empty() ? 1 : trials); ++i)
        trials_.push_back(out.empty() ? first() : drawn());
      compare();
      const size_t best = most_gaining();
      for (const std::vector<std::vector<nearer>>& of : changed_)
        update(of[best]);
      out.push_back(blocks_.rows()[trials_[best]]);
    }
    return out;
  }

private:
  size_t first() { return random_.below(blocks_.size(), next_++); }

  void add_up() {
    double total = 0;
    for (size_t b = 0; b < sums_.size(); ++b)
      up_to_[b] = total += sums_[b];
  }

  size_t drawn() {
    const double at = random_.unit(next_++) * up_to_.back();
    const auto found = std::upper_bound(up_to_.begin(), up_to_.end(), at);
    if (found != up_to_.end()) {
      const auto block = size_t(found - up_to_.begin());
      double left = at - (block > 0 ? up_to_[block - 1] : 0);
      const size_t end = std::min((block + 1) * block_width, blocks_.size());
      for (size_t i = block * block_width; i < end; ++i) {
        if (left < squared_[i])
          return i;
        left -= squared_[i];
      }
    }
    // Rounding has left something, or all points are centres already.
    return first();
  }

  /// What each trial would change, into `changed_`.
  void compare() {
    for (size_t q = 0; q < trials_.size(); ++q) {
      const float* from =
          blocks_.block(trials_[q] / block_width) + trials_[q] % block_width;
      places_[q].resize(dimensions_);
      for (size_t t = 0; t < dimensions_; ++t)
        places_[q][t] = queries_[t * block_width + q] = from[t * block_width];
    }
    const float furthest = *std::ranges::max_element(limits_);
    parallel_work(blocks_.supers(), how_, [&](size_t super) {
      std::vector<std::vector<nearer>>& out = changed_[super];
      out.resize(block_width);
      for (std::vector<nearer>& one : out)
        one.clear();
      look_into_super(super, furthest, out);
    });
  }

  void look_into_super(size_t super, float furthest,
                       std::vector<std::vector<nearer>>& out) const {
    const box_group boxes = blocks_.boxes_of_super(super);
    float apart[block_width][group_width];
    for (size_t q = 0; q < trials_.size(); ++q)
      box_distances(places_[q].data(), places_[q].data(), boxes.low, boxes.high,
                    dimensions_, apart[q]);
    for (size_t i = 0; i < group_width; ++i) {
      uint32_t asked = 0;
      for (size_t q = 0; q < trials_.size(); ++q)
        asked |= uint32_t(apart[q][i] <= furthest) << q;
      if (asked != 0 && super * group_width + i < blocks_.groups())
        look_into_group(super * group_width + i, asked, out);
    }
  }

  /// `asked`: the trials that may be near, as a mask.
  void look_into_group(size_t group, uint32_t asked,
                       std::vector<std::vector<nearer>>& out) const {
    const box_group boxes = blocks_.boxes_of_group(group);
    float apart[block_width][group_width];
    for (uint32_t left = asked; left != 0; left &= left - 1) {
      const auto q = size_t(std::countr_zero(left));
      box_distances(places_[q].data(), places_[q].data(), boxes.low, boxes.high,
                    dimensions_, apart[q]);
    }
    for (size_t i = 0; i < group_width; ++i) {
      const size_t block = group * group_width + i;
      if (block >= blocks_.blocks())
        break;
      float limits[block_width];
      std::fill_n(limits, block_width, -1.0F);
      bool any = false;
      for (uint32_t left = asked; left != 0; left &= left - 1) {
        const auto q = size_t(std::countr_zero(left));
        if (apart[q][i] > limits_[block])
          continue;
        limits[q] = limits_[block];
        any = true;
      }
      if (any)
        look_into_block(block, limits, out);
    }
  }

  void look_into_block(size_t block, const float* limits,
                       std::vector<std::vector<nearer>>& out) const {
    float distances[block_width * block_width];
    uint32_t masks[block_width];
    uint32_t any = points_nearer({.dimensions = dimensions_,
                                  .queries = queries_.data(),
                                  .points = blocks_.block(block),
                                  .limits = limits},
                                 nearer_than_.data() + block * block_width,
                                 distances, masks);
    const point_view& points = index_.points();
    for (; any != 0; any &= any - 1) {
      const auto q = size_t(std::countr_zero(any));
      const uint32_t row = blocks_.rows()[trials_[q]];
      for (uint32_t near = masks[q]; near != 0; near &= near - 1) {
        const auto lane = size_t(std::countr_zero(near));
        const size_t place = block * block_width + lane;
        if (place >= blocks_.size())
          break;
        const double squared = squared_distance(
            points.at(row), points.at(blocks_.rows()[place]), points.columns);
        if (squared < squared_[place])
          out[q].push_back({place, squared});
      }
    }
  }

  size_t most_gaining() const {
    size_t best = 0;
    double most = 0;
    for (size_t q = 0; q < trials_.size(); ++q) {
      double gain = 0;
      for (const std::vector<std::vector<nearer>>& of : changed_)
        for (const nearer& one : of[q])
          gain += std::isinf(squared_[one.place])
                      ? 0
                      : squared_[one.place] - one.squared;
      if (q > 0 && gain <= most)
        continue;
      best = q;
      most = gain;
    }
    return best;
  }

  /// Sums and limits of the blocks in which something has changed, too.
  void update(const std::vector<nearer>& changed) {
    for (const nearer& one : changed) {
      squared_[one.place] = one.squared;
      nearer_than_[one.place] = index_.space().limit(one.squared, 1);
    }
    size_t last = SIZE_MAX;
    for (const nearer& one : changed) {
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
  work_terms how_;
  const size_t dimensions_;
  std::vector<double> squared_;    // of each place
  std::vector<float> nearer_than_; // of each place: limit() of it
  std::vector<double> sums_;       // of each block
  std::vector<double> up_to_;      // of the blocks up to each, this one, too
  std::vector<float> limits_;      // of each block: its largest
  uint64_t next_ = 0;
  // Of one step: the places that were drawn, and by super block what each of
  // them would change.
  std::vector<size_t> trials_;
  std::vector<float> queries_;
  std::vector<std::vector<float>> places_;
  std::vector<std::vector<std::vector<nearer>>> changed_;
};

} // namespace

std::vector<uint32_t> k_means_seeds(const class_index& index, uint32_t of_class,
                                    size_t centres,
                                    const counter_random& random,
                                    const work_terms& how) {
  return seeding(index, of_class, random, how).run(centres);
}

} // namespace ballast::data
