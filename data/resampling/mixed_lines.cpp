// smotenc: rows on the lines between others that have categories, too.
#include "data/resampling/class_lines.hpp"
#include "data/resampling/memory_room.hpp"
#include "data/resampling/resampling_task.hpp"
#include "runtime/base/errors.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ballast::data {

namespace {

/// The middle one; of an even number the mean of the two in the middle.
double median_of(std::vector<double> values) {
  const size_t middle = values.size() / 2;
  std::sort(values.begin(), values.end());
  return values.size() % 2 == 1
             ? values[middle]
             : values[middle - 1] + (values[middle] - values[middle - 1]) / 2;
}

/// The rows of a class as points: their numbers, and coordinates for their
/// categories, so that the squared distance of two rows is that of their
/// numbers plus the square of `apart` for each column in which they differ.
class mixed_points {
public:
  mixed_points(const resampling_task& task, const std::vector<uint32_t>& rows)
      : task_(task), rows_(rows), width_(task.rows.features.columns) {
    apart_ = median_of(deviations_of(task.rows.features, rows));
    for (size_t c = 0; apart_ > 0 && c < task.rows.categories.columns(); ++c)
      place(c);
    check_room(2 * uint64_t{rows.size()} * width_ * sizeof(double),
               class_text(task.rows, task.rows.of_row[rows[0]]) + ": " +
                   std::to_string(rows.size()) + " rows with " +
                   std::to_string(width_) +
                   " columns, of categories one each,");
    values_.resize(rows.size() * width_);
    for (size_t i = 0; i < rows.size(); ++i)
      fill(i);
  }

  point_view view() const { return {values_.data(), rows_.size(), width_}; }

private:
  /// Where the categories of a column have their coordinates; a column with
  /// two of them in this class needs but one coordinate, one with one none.
  struct coordinates {
    size_t column = 0;
    size_t first = 0;
    std::vector<uint32_t> known; // in this class, sorted
  };

  void place(size_t column) {
    coordinates one{column, width_, {}};
    std::vector<bool> met(task_.rows.categories.counts[column]);
    for (const uint32_t row : rows_)
      met[task_.rows.categories.at(row)[column]] = true;
    for (uint32_t code = 0; code < met.size(); ++code)
      if (met[code])
        one.known.push_back(code);
    if (one.known.size() < 2)
      return;
    width_ += one.known.size() == 2 ? 1 : one.known.size();
    columns_.push_back(std::move(one));
  }

  void fill(size_t i) {
    double* to = values_.data() + i * width_;
    std::copy_n(task_.rows.features.at(rows_[i]), task_.rows.features.columns,
                to);
    for (const coordinates& one : columns_) {
      const uint32_t code = task_.rows.categories.at(rows_[i])[one.column];
      const auto at =
          size_t(std::ranges::lower_bound(one.known, code) - one.known.begin());
      if (one.known.size() == 2)
        to[one.first] = at == 1 ? apart_ : 0;
      else
        to[one.first + at] = apart_ * std::sqrt(0.5);
    }
  }

  const resampling_task& task_;
  const std::vector<uint32_t>& rows_;
  size_t width_;
  double apart_ = 0;
  std::vector<coordinates> columns_;
  std::vector<double> values_; // rows x width
};

/// The rows made of one class, with their categories.
class mixed_class {
public:
  mixed_class(const resampling_task& task, const class_target& target)
      : task_(task), of_(target.of_class), rows_(task.classes[of_]),
        lines_(task, of_, target.rows),
        ties_(draws_of(task.seed, of_, draw_purpose::ties)) {}

  void make(resampled_rows& out) const {
    const auto k = neighbours_of(task_, of_, "k_neighbors");
    if (!k) {
      for (const made_row& one : lines_.repeated()) {
        const std::span<const uint32_t> own =
            task_.rows.categories.at(one.parent);
        out.codes.insert(out.codes.end(), own.begin(), own.end());
        out.made.push_back(one);
      }
      return;
    }
    const mixed_points points(task_, rows_);
    const std::vector<uint32_t> one_class(rows_.size(), 0);
    const class_index index(points.view(), one_class, 1, {true}, task_.how);
    std::vector<uint32_t> all(rows_.size());
    std::iota(all.begin(), all.end(), 0);
    const neighbour_table table =
        nearest(index, all, index.all(), *k, task_.how);
    std::vector<made_row> made = lines_.from_any(all, table);
    const size_t before = out.codes.size();
    const size_t width = task_.rows.categories.columns();
    out.codes.resize(before + made.size() * width);
    constexpr size_t piece = 1024;
    parallel_work((made.size() + piece - 1) / piece, task_.how, [&](size_t p) {
      for (size_t i = p * piece; i < std::min((p + 1) * piece, made.size());
           ++i)
        vote(table.of(made[i].parent), i,
             out.codes.data() + before + i * width);
    });
    for (made_row& one : made) {
      one.parent = rows_[one.parent];
      one.other = rows_[one.other];
    }
    out.made.insert(out.made.end(), made.begin(), made.end());
  }

private:
  /// Of each column the most frequent category of these; made row i.
  void vote(std::span<const neighbour> among, size_t i, uint32_t* out) const {
    const size_t width = task_.rows.categories.columns();
    std::vector<uint32_t> codes(among.size()), most;
    for (size_t c = 0; c < width; ++c) {
      for (size_t n = 0; n < among.size(); ++n)
        codes[n] = task_.rows.categories.at(rows_[among[n].row])[c];
      most_frequent(codes, most);
      out[c] = most.size() == 1
                   ? most[0]
                   : most[ties_.below(most.size(), uint64_t{i} * width + c)];
    }
  }

  static void most_frequent(std::vector<uint32_t>& codes,
                            std::vector<uint32_t>& most) {
    std::sort(codes.begin(), codes.end());
    size_t times = 0;
    for (size_t i = 0; i < codes.size();) {
      size_t end = i;
      while (end < codes.size() && codes[end] == codes[i])
        ++end;
      if (end - i > times)
        most.clear();
      if (end - i >= times)
        most.push_back(codes[i]);
      times = std::max(times, end - i);
      i = end;
    }
  }

  const resampling_task& task_;
  const uint32_t of_;
  const std::vector<uint32_t>& rows_;
  const class_lines lines_;
  const counter_random ties_;
};

} // namespace

resampled_rows with_mixed_lines(const resampling_task& task) {
  resampled_rows out;
  out.kept.resize(task.rows.of_row.size());
  std::iota(out.kept.begin(), out.kept.end(), 0);
  for (const class_target& one : task.targets)
    if (one.rows > 0)
      mixed_class(task, one).make(out);
  out.values = drawn_lines(task, out.made);
  return out;
}

} // namespace ballast::data
