// smoten: rows of categories, each the most frequent ones around a row.
#include "data/resampling/class_lines.hpp"
#include "data/resampling/memory_room.hpp"
#include "data/resampling/numpy_random.hpp"
#include "data/resampling/resampling_task.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace ballast::data {

namespace {

/// The value difference metric (Stanfill, Waltz: "Toward memory-based
/// reasoning", CACM 1986): two categories of a column are apart by the square
/// of the sum, over the classes, of how much the shares of a class among their
/// rows differ. Immutable; any thread.
class value_differences {
public:
  explicit value_differences(const resampling_task& task)
      : classes_(task.rows.names.size()) {
    const category_view& all = task.rows.categories;
    size_t values = 0;
    for (const uint32_t count : all.counts) {
      first_.push_back(values);
      values += count;
    }
    check_room(values * classes_ * sizeof(double),
               "the shares of " + std::to_string(classes_) +
                   " classes among the rows of " + std::to_string(values) +
                   " categories");
    shares_.resize(values * classes_);
    std::vector<uint64_t> rows(values);
    for (size_t row = 0; row < task.rows.of_row.size(); ++row)
      for (size_t c = 0; c < all.columns(); ++c) {
        const size_t value = first_[c] + all.at(row)[c];
        ++rows[value];
        ++shares_[value * classes_ + task.rows.of_row[row]];
      }
    for (size_t i = 0; i < shares_.size(); ++i)
      shares_[i] /= double(rows[i / classes_]);
  }

  /// From one category of a column to all of them.
  void from(size_t column, uint32_t code, std::span<double> out) const {
    const double* a = shares_.data() + (first_[column] + code) * classes_;
    for (size_t other = 0; other < out.size(); ++other) {
      const double* b = shares_.data() + (first_[column] + other) * classes_;
      double sum = 0;
      for (size_t c = 0; c < classes_; ++c)
        sum += std::abs(a[c] - b[c]);
      out[other] = sum * sum;
    }
  }

  const std::vector<size_t>& first() const { return first_; }
  size_t values() const { return shares_.size() / classes_; }

private:
  const size_t classes_;
  std::vector<size_t> first_;  // value, by column
  std::vector<double> shares_; // values x classes
};

/// Rows of a class with the same categories count as one: what is made of them
/// is the same.
class nominal_class {
public:
  nominal_class(const resampling_task& task, const class_target& target)
      : task_(task), of_(target.of_class), count_(target.rows),
        rows_(task.classes[of_]), width_(task.rows.categories.columns()) {}

  void make(const value_differences& apart, resampled_rows& out) {
    const auto k = neighbours_of(task_, of_, "k_neighbors");
    if (k) {
      group();
      made_.resize(groups_.size() * width_);
      parallel_work(groups_.size(), task_.how,
                    [&](size_t g) { vote(apart, g, *k + 1); });
    }
    for (const uint32_t i : drawn()) {
      const uint32_t row = rows_[i];
      const std::span<const uint32_t> codes =
          k ? std::span<const uint32_t>(made_).subspan(group_of_[i] * width_,
                                                       width_)
            : task_.rows.categories.at(row);
      out.codes.insert(out.codes.end(), codes.begin(), codes.end());
      out.made.push_back({of_, row, row, 0});
    }
  }

private:
  std::span<const uint32_t> codes_of(uint32_t row) const {
    return task_.rows.categories.at(row);
  }

  void group() {
    std::vector<uint32_t> order(rows_.size());
    std::iota(order.begin(), order.end(), 0);
    const auto before = [&](uint32_t a, uint32_t b) {
      const auto x = codes_of(rows_[a]), y = codes_of(rows_[b]);
      const auto at = std::ranges::mismatch(x, y);
      return at.in1 == x.end() ? a < b : *at.in1 < *at.in2;
    };
    std::sort(order.begin(), order.end(), before);
    group_of_.resize(rows_.size());
    for (size_t i = 0; i < order.size(); ++i) {
      if (i == 0 || !std::ranges::equal(codes_of(rows_[order[i]]),
                                        codes_of(rows_[order[i - 1]])))
        groups_.emplace_back();
      groups_.back().push_back(rows_[order[i]]);
      group_of_[order[i]] = uint32_t(groups_.size() - 1);
    }
  }

  /// Of each column the most frequent category of the `most` rows that are
  /// nearest to those of a group, which are there themselves.
  void vote(const value_differences& apart, size_t from, size_t most) {
    const std::span<const uint32_t> own = codes_of(groups_[from][0]);
    std::vector<double> tables(apart.values());
    for (size_t c = 0; c < width_; ++c)
      apart.from(
          c, own[c],
          {tables.data() + apart.first()[c], task_.rows.categories.counts[c]});
    std::vector<neighbour> near;
    for (const std::vector<uint32_t>& rows : groups_) {
      const double limit = near.size() < most
                               ? std::numeric_limits<double>::infinity()
                               : near.back().squared;
      const std::span<const uint32_t> codes = codes_of(rows[0]);
      double sum = 0;
      for (size_t c = 0; c < width_ && sum <= limit; ++c)
        sum += tables[apart.first()[c] + codes[c]];
      if (sum > limit)
        continue;
      for (size_t i = 0; i < std::min(rows.size(), most); ++i)
        if (!offer(near, {sum, rows[i]}, most))
          break;
    }
    std::vector<uint32_t> codes(near.size());
    for (size_t c = 0; c < width_; ++c) {
      for (size_t i = 0; i < near.size(); ++i)
        codes[i] = codes_of(near[i].row)[c];
      made_[from * width_ + c] = first_most_frequent(codes);
    }
  }

  static bool offer(std::vector<neighbour>& near, const neighbour& one,
                    size_t most) {
    if (near.size() == most && !(one < near.back()))
      return false;
    near.insert(std::upper_bound(near.begin(), near.end(), one), one);
    if (near.size() > most)
      near.pop_back();
    return true;
  }

  static uint32_t first_most_frequent(std::vector<uint32_t>& codes) {
    std::sort(codes.begin(), codes.end());
    uint32_t out = 0;
    size_t times = 0;
    for (size_t i = 0; i < codes.size();) {
      size_t end = i;
      while (end < codes.size() && codes[end] == codes[i])
        ++end;
      if (end - i > times) {
        times = end - i;
        out = codes[i];
      }
      i = end;
    }
    return out;
  }

  std::vector<uint32_t> drawn() const {
    numpy_random numpy{uint32_t(task_.seed)};
    const bool as_numpy = task_.draws_as_numpy();
    const counter_random random = draws_of(task_.seed, of_, draw_purpose::rows);
    std::vector<uint32_t> out(count_);
    for (uint64_t i = 0; i < count_; ++i)
      out[i] = uint32_t(as_numpy ? numpy.below(rows_.size())
                                 : random.below(rows_.size(), i));
    return out;
  }

  const resampling_task& task_;
  const uint32_t of_;
  const uint64_t count_;
  const std::vector<uint32_t>& rows_;
  const size_t width_;
  std::vector<std::vector<uint32_t>> groups_; // rows, each group in order
  std::vector<uint32_t> group_of_;            // by place in `rows_`
  std::vector<uint32_t> made_;                // groups x width
};

} // namespace

resampled_rows with_nominal_rows(const resampling_task& task) {
  resampled_rows out;
  out.kept.resize(task.rows.of_row.size());
  std::iota(out.kept.begin(), out.kept.end(), 0);
  const value_differences apart(task);
  for (const class_target& one : task.targets)
    if (one.rows > 0)
      nominal_class(task, one).make(apart, out);
  return out;
}

} // namespace ballast::data
