/// Rows with classes for tests of resampling.
#pragma once

#include "data/resampling/resample.hpp"
#include "tests/data/neighbours/some_points.hpp"
#include "tests/data/source/stream_tester.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

namespace ballast::data {

inline labelled_rows labelled(const some_points& points) {
  labelled_rows out{.features = points.view(),
                    .of_row = points.of_row,
                    .names = {},
                    .label = "y"};
  for (uint32_t c = 0; c < points.classes; ++c)
    out.names.push_back(std::string(1, char('a' + c)));
  return out;
}

inline graph::resampling_order
order_of(const std::string& method,
         const std::vector<std::string>& options = {}) {
  const graph::resampling_result read =
      graph::parse_resampling(method, options);
  EXPECT_FALSE(read.mistake) << read.mistake.message;
  return read.value;
}

inline resampled_rows resampled(const some_points& points,
                                const std::string& method,
                                const std::vector<std::string>& options = {},
                                size_t threads = 1) {
  return resample(labelled(points), order_of(method, options), 7,
                  {.threads = threads});
}

/// Rows by class afterwards.
inline std::vector<uint64_t> counts_of(const some_points& points,
                                       const resampled_rows& rows) {
  std::vector<uint64_t> out(points.classes);
  for (const uint32_t row : rows.kept)
    ++out[points.of_row[row]];
  for (const made_row& one : rows.made)
    ++out[one.of_class];
  return out;
}

} // namespace ballast::data
