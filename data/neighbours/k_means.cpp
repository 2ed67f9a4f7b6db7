#include "data/neighbours/k_means.hpp"

#include "data/neighbours/block_search.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace ballast::data {

namespace {

/// Rounds of Lloyd's algorithm.
class rounds {
public:
  rounds(const class_index& index, uint32_t of_class,
         const k_means_terms& terms, const work_terms& how)
      : index_(index), columns_(index.points().columns), terms_(terms),
        how_(how) {
    const std::span<const uint32_t> all = index.blocks_of(of_class).rows();
    rows_.assign(all.begin(), all.end());
    std::sort(rows_.begin(), rows_.end());
    groups_ = index.grouped(rows_);
    nearest_.assign(rows_.size(), no_row);
    squared_.assign(rows_.size(), 0);
    moved_.assign(terms.centres, true);
  }

  k_means_result run(const std::vector<uint32_t>& seeds) {
    for (const uint32_t row : seeds)
      centres_.insert(centres_.end(), index_.points().at(row),
                      index_.points().at(row) + columns_);
    const double enough = terms_.tolerance * mean_variance();
    k_means_result out;
    for (;;) {
      const bool changed = assign();
      ++out.rounds;
      if (!changed || out.rounds >= terms_.rounds_max || move() <= enough)
        break;
    }
    assign();
    for (const double one : squared_)
      out.inertia += one;
    out.centres = std::move(centres_);
    out.nearest = std::move(nearest_);
    return out;
  }

private:
  point_view centres() const {
    return {centres_.data(), terms_.centres, columns_};
  }

  double mean_variance() const {
    double sum = 0;
    for (size_t c = 0; c < columns_; ++c) {
      double mean = 0, squares = 0;
      for (const uint32_t row : rows_)
        mean += index_.points().at(row)[c] / double(rows_.size());
      for (const uint32_t row : rows_) {
        const double apart = index_.points().at(row)[c] - mean;
        squares += apart * apart / double(rows_.size());
      }
      sum += squares / double(columns_);
    }
    return sum;
  }

  std::optional<point_blocks> blocks_of(bool moved) const {
    std::vector<uint32_t> some;
    for (uint32_t i = 0; i < moved_.size(); ++i)
      if (moved_[i] == moved)
        some.push_back(i);
    if (some.empty())
      return std::nullopt;
    return point_blocks(index_.space(), centres(), std::move(some), how_);
  }

  /// Each point to its nearest centre. Returns whether any has another one.
  bool assign() {
    const auto moved = blocks_of(true), still = blocks_of(false);
    std::vector<uint8_t> changed(groups_.size());
    parallel_work(groups_.size(), how_, [&](size_t i) {
      const query_group& group = groups_[i];
      block_search search(index_, 1);
      search.begin(group);
      for (size_t q = 0; q < group.rows.size(); ++q)
        offer_own(search, q, group);
      if (moved)
        search.look_into(*moved, centres());
      for (size_t q = 0; q < group.rows.size(); ++q) {
        const uint32_t own = nearest_[group.places[q]];
        if (own != no_row && !moved_[own])
          search.dismiss(q);
      }
      if (still)
        search.look_into(*still, centres());
      for (size_t q = 0; q < group.rows.size(); ++q) {
        const neighbour now = search.found(q)[0];
        const uint32_t at = group.places[q];
        changed[i] |= uint8_t(nearest_[at] != now.row);
        nearest_[at] = now.row;
        squared_[at] = now.squared;
      }
    });
    return std::ranges::find(changed, 1) != changed.end();
  }

  void offer_own(block_search& search, size_t q,
                 const query_group& group) const {
    const uint32_t own = nearest_[group.places[q]];
    if (own == no_row)
      return;
    const double* at = centres_.data() + own * columns_;
    search.offer(
        q, {squared_distance(index_.points().at(group.rows[q]), at, columns_),
            own});
  }

  /// Each centre to the mean of its points; one without points stays. Returns
  /// how far all have moved, squared.
  double move() {
    std::vector<double> sums(centres_.size());
    std::vector<uint64_t> counts(terms_.centres);
    for (size_t i = 0; i < rows_.size(); ++i) {
      const double* from = index_.points().at(rows_[i]);
      double* to = sums.data() + nearest_[i] * columns_;
      for (size_t c = 0; c < columns_; ++c)
        to[c] += from[c];
      ++counts[nearest_[i]];
    }
    double moved = 0;
    for (size_t k = 0; k < terms_.centres; ++k) {
      if (counts[k] == 0) {
        moved_[k] = false;
        continue;
      }
      double* sum = sums.data() + k * columns_;
      for (size_t c = 0; c < columns_; ++c)
        sum[c] /= double(counts[k]);
      double* at = centres_.data() + k * columns_;
      const double apart = squared_distance(sum, at, columns_);
      moved_[k] = apart > 0;
      moved += apart;
      std::copy_n(sum, columns_, at);
    }
    return moved;
  }

  const class_index& index_;
  const size_t columns_;
  const k_means_terms terms_;
  const work_terms& how_;
  std::vector<uint32_t> rows_;
  std::vector<query_group> groups_;
  std::vector<uint32_t> nearest_; // of each row
  std::vector<double> squared_;
  std::vector<double> centres_;
  std::vector<bool> moved_;
};

} // namespace

k_means_result k_means(const class_index& index, uint32_t of_class,
                       const k_means_terms& terms, const counter_random& random,
                       const work_terms& how) {
  return rounds(index, of_class, terms, how)
      .run(k_means_seeds(index, of_class, terms.centres, random, how));
}

} // namespace ballast::data
