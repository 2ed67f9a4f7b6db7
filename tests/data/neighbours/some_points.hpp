/// Points for tests of the search for neighbours, and what it should find,
/// found by looking at all of them.
#pragma once

#include "data/neighbours/class_index.hpp"
#include "runtime/base/random.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace ballast::data {

struct some_points {
  std::string name;
  size_t columns = 0;
  uint32_t classes = 1;
  std::vector<double> values;
  std::vector<uint32_t> of_row;

  point_view view() const { return {values.data(), of_row.size(), columns}; }
  class_index index(size_t threads = 1) const {
    return {view(),
            of_row,
            classes,
            std::vector<bool>(classes, true),
            {.threads = threads}};
  }
  std::vector<uint32_t> rows() const {
    std::vector<uint32_t> out(of_row.size());
    for (uint32_t i = 0; i < out.size(); ++i)
      out[i] = i;
    return out;
  }
};

/// Normal points around a few centres, the columns of unequal spread, classes
/// in no order; class 0 has about `share` of them.
inline some_points normal_points(size_t rows, size_t columns, uint32_t classes,
                                 uint64_t seed, double share = 0.7) {
  some_points out{"normal " + std::to_string(rows) + " x " +
                      std::to_string(columns),
                  columns,
                  classes,
                  {},
                  {}};
  const counter_random random(seed, 1);
  for (size_t i = 0; i < rows; ++i) {
    const bool first = random.unit(2 * i) < share || classes == 1;
    const auto of = first ? uint32_t{0}
                          : uint32_t(1 + random.below(classes - 1, 2 * i + 1));
    out.of_row.push_back(of);
    for (size_t c = 0; c < columns; ++c)
      out.values.push_back((c < 2 ? double(of) * 0.7 : 0) +
                           normal(counter_random(seed, 2), i * columns + c) /
                               (1 + 0.3 * double(c)));
  }
  return out;
}

/// Of a grid: most points and distances are there several times.
inline some_points tied_points(size_t rows, size_t columns, uint32_t classes,
                               uint64_t seed) {
  some_points out = normal_points(rows, columns, classes, seed);
  out.name = "tied " + std::to_string(rows) + " x " + std::to_string(columns);
  for (double& one : out.values)
    one = std::round(2 * one);
  return out;
}

/// Sets of which each is hard for another step of the search.
inline std::vector<some_points> all_kinds_of_points() {
  std::vector<some_points> out{
      normal_points(1, 3, 1, 1),    normal_points(2, 1, 2, 2),
      normal_points(40, 2, 3, 3),   normal_points(1500, 6, 2, 4),
      normal_points(700, 20, 4, 5), normal_points(300, 150, 2, 6),
      tied_points(600, 1, 2, 7),    tied_points(900, 4, 3, 8),
  };
  some_points constant = normal_points(400, 5, 2, 9);
  constant.name = "a constant column";
  for (size_t i = 0; i < constant.of_row.size(); ++i)
    constant.values[5 * i + 2] = 7;
  out.push_back(constant);
  some_points far = normal_points(500, 4, 2, 10);
  far.name = "far from the origin";
  for (double& one : far.values)
    one += 1e9;
  out.push_back(far);
  some_points outlier = normal_points(500, 4, 2, 11);
  outlier.name = "two outliers";
  outlier.values[0] = 1e30;
  outlier.values[5] = -1e25;
  out.push_back(outlier);
  some_points large = normal_points(400, 3, 2, 12);
  large.name = "as large as is taken";
  for (double& one : large.values)
    one *= 1e149;
  out.push_back(large);
  some_points same = normal_points(200, 3, 2, 13);
  same.name = "all equal";
  std::fill(same.values.begin(), same.values.end(), 0.1);
  out.push_back(same);
  return out;
}

/// All rows of these classes, the nearest first.
inline std::vector<neighbour>
all_by_distance(const some_points& points, uint32_t from,
                const std::vector<uint32_t>& among,
                const std::vector<uint8_t>& gone = {}) {
  std::vector<neighbour> out;
  for (uint32_t row = 0; row < points.of_row.size(); ++row)
    if (row != from && (gone.empty() || gone[row] == 0) &&
        std::find(among.begin(), among.end(), points.of_row[row]) !=
            among.end())
      out.push_back({squared_distance(points.view().at(from),
                                      points.view().at(row), points.columns),
                     row});
  std::sort(out.begin(), out.end());
  return out;
}

} // namespace ballast::data
