#include "gpu/reduction/compressed_parts.hpp"

#include <algorithm>
#include <optional>

namespace ballast::gpu {

namespace {

constexpr size_t floats_min = 1024; // 4 KiB
/// Of topk, which leaves most of a tensor for later: 32 KiB.
constexpr size_t floats_min_of_largest = size_t{8} << 10;
/// One dimension of so many is no bias.
constexpr size_t flat_floats_min = size_t{1} << 16;
/// A flat parameter becomes a matrix of so many columns, but for its end.
constexpr size_t flat_columns = 512;

size_t dimensions(const parameter_info& of) {
  return size_t(std::count_if(of.shape.begin(), of.shape.end(),
                              [](int64_t length) { return length > 1; }));
}

bool compressible(const parameter_info& of, compression_kind how) {
  if (dimensions(of) < 2)
    return of.count >= flat_floats_min;
  return of.count >=
         (how == compression_kind::topk ? floats_min_of_largest : floats_min);
}

/// Nothing if two factors of `rank` columns are not half as large.
std::optional<matrix_part> matrix_of(const parameter_info& of, size_t rank) {
  matrix_part out;
  if (dimensions(of) >= 2) {
    const auto first = std::find_if(of.shape.begin(), of.shape.end(),
                                    [](int64_t length) { return length > 1; });
    out.rows = size_t(*first);
    out.columns = of.count / out.rows;
  } else {
    out.rows = of.count / flat_columns;
    out.columns = flat_columns;
  }
  out.rank = std::min({rank, out.rows, out.columns});
  if (2 * out.rank * (out.rows + out.columns) > out.rows * out.columns)
    return {};
  return out;
}

void add_range(std::vector<arena_range>& to, arena_range one) {
  if (one.count == 0)
    return;
  if (!to.empty() && to.back().offset + to.back().count == one.offset)
    to.back().count += one.count;
  else
    to.push_back(one);
}

} // namespace

compressed_parts
lay_out_compressed(const std::vector<parameter_info>& parameters,
                   const bucket_layout& layout, const train_spec& how) {
  compressed_parts out;
  out.buckets.resize(layout.buckets.size());
  const bool factors = how.compression == compression_kind::powersgd;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const parameter_info& one = parameters[i];
    if (layout.first[i] > layout.last[i])
      continue; // its gradient stays here
    std::optional<matrix_part> matrix;
    if (factors && compressible(one, how.compression))
      matrix = matrix_of(one, how.compression_rank);
    if (matrix) {
      auto& bucket = out.buckets[layout.last[i]];
      const size_t count = matrix->rows * matrix->columns;
      matrix->at = bucket.count;
      matrix->parameter = i;
      bucket.matrices.push_back(*matrix);
      bucket.ranges.push_back({one.offset, count});
      bucket.count += count;
      add_range(out.plain, {one.offset + count, one.count - count});
    } else if (factors || !compressible(one, how.compression)) {
      add_range(out.plain, {one.offset, one.count});
    } else {
      for (size_t b = layout.first[i]; b <= layout.last[i]; ++b) {
        const gpu::bucket& all = layout.buckets[b];
        const size_t begin = std::max(one.offset, all.offset);
        const size_t end =
            std::min(one.offset + one.count, all.offset + all.count);
        add_range(out.buckets[b].ranges, {begin, end - begin});
        out.buckets[b].count += end - begin;
      }
    }
  }
  for (const arena_range& one : out.plain)
    out.plain_count += one.count;
  return out;
}

} // namespace ballast::gpu
