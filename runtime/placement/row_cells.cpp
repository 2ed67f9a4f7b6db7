#include "runtime/placement/row_cells.hpp"

#include "runtime/base/random.hpp"

#include <algorithm>
#include <limits>

namespace ballast::placement {

namespace {

constexpr int cell_rounds_max = 20;
constexpr uint64_t stream_of_centres = 0x63656c6c;

double squared_distance(const float* point, const double* centre,
                        size_t dimensions) {
  double sum = 0;
  for (size_t d = 0; d < dimensions; ++d) {
    const double by = double(point[d]) - centre[d];
    sum += by * by;
  }
  return sum;
}

/// k-means++: draws each further centre in proportion to a point's squared
/// distance from the nearest centre so far.
std::vector<double> first_centres(std::span<const float> points,
                                  size_t dimensions, uint32_t cells_max) {
  const counter_random random(0, stream_of_centres);
  const size_t count = points.size() / dimensions;
  const auto first = points.first(dimensions);
  std::vector<double> out(first.begin(), first.end());
  std::vector<double> distance(count, std::numeric_limits<double>::max());
  for (uint32_t cell = 1; cell < cells_max; ++cell) {
    const double* newest = &out[out.size() - dimensions];
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
      distance[i] =
          std::min(distance[i], squared_distance(&points[i * dimensions],
                                                 newest, dimensions));
      sum += distance[i];
    }
    if (sum <= 0)
      break; // all remaining points equal a centre
    double left = random.unit(cell) * sum;
    size_t drawn = count;
    for (size_t i = 0; i < count && (drawn == count || left > 0); ++i)
      if (distance[i] > 0) {
        drawn = i;
        left -= distance[i];
      }
    const auto next = points.subspan(drawn * dimensions, dimensions);
    out.insert(out.end(), next.begin(), next.end());
  }
  return out;
}

} // namespace

void token_profile(std::span<const float> tokens,
                   std::span<float, token_profile_size> out) {
  std::fill(out.begin(), out.end(), 0.0f);
  for (float token : tokens)
    out[size_t(token) % token_profile_size] += 1.0f / float(tokens.size());
}

row_cells::row_cells(std::span<const float> points, size_t dimensions,
                     uint32_t cells_max)
    : dimensions_(dimensions) {
  centres_ = first_centres(points, dimensions, cells_max);
  std::vector<int32_t> cell_of(points.size() / dimensions, -1);
  for (int round = 0; round < cell_rounds_max; ++round) {
    bool changed = false;
    std::vector<double> sums(centres_.size());
    std::vector<double> members(count());
    for (size_t i = 0; i < cell_of.size(); ++i) {
      const auto point = points.subspan(i * dimensions, dimensions);
      const int32_t cell = of(point);
      changed |= cell != cell_of[i];
      cell_of[i] = cell;
      members[size_t(cell)] += 1;
      for (size_t d = 0; d < dimensions; ++d)
        sums[size_t(cell) * dimensions + d] += point[d];
    }
    if (!changed)
      break;
    // A centre without members keeps its place.
    for (size_t cell = 0; cell < members.size(); ++cell)
      for (size_t d = 0; d < dimensions && members[cell] > 0; ++d)
        centres_[cell * dimensions + d] =
            sums[cell * dimensions + d] / members[cell];
  }
}

int32_t row_cells::of(std::span<const float> point) const {
  size_t nearest = 0;
  double least = std::numeric_limits<double>::max();
  for (size_t cell = 0; cell < count(); ++cell) {
    const double distance = squared_distance(
        point.data(), &centres_[cell * dimensions_], dimensions_);
    if (distance < least) {
      least = distance;
      nearest = cell;
    }
  }
  return int32_t(nearest);
}

} // namespace ballast::placement
