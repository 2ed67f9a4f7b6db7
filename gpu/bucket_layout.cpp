#include "gpu/bucket_layout.hpp"

#include "runtime/base/random.hpp"

#include <algorithm>

namespace ballast::gpu {

namespace {

/// The begin of the bucket that ends at `end` and holds at most `most`
/// elements: at the start of a parameter, or, inside a large parameter, such
/// that equal buckets lead to one. A bucket that reached into the next layer
/// would wait for a gradient that is ready much later.
size_t begin_of_bucket(const std::vector<size_t>& starts, size_t end,
                       size_t most) {
  const size_t furthest = end - std::min(most, end);
  auto start = std::lower_bound(starts.begin(), starts.end(), furthest);
  if (start != starts.end() && *start + most / 2 <= end)
    return *start;
  if (start == starts.begin())
    return furthest;
  const size_t length = end - *std::prev(start);
  const size_t count = (length + most - 1) / most;
  return end - (length + count - 1) / count;
}

/// Says which buckets each parameter is in.
void place(const std::vector<parameter_info>& parameters, bucket_layout& out) {
  for (const parameter_info& one : parameters) {
    size_t first = out.buckets.size();
    size_t last = 0;
    for (size_t b = 0; b < out.buckets.size(); ++b) {
      const bucket& part = out.buckets[b];
      if (one.offset < part.offset + part.count &&
          part.offset < one.offset + one.count) {
        first = std::min(first, b);
        last = std::max(last, b);
      }
    }
    out.first.push_back(first);
    out.last.push_back(last);
  }
}

} // namespace

bucket_layout make_bucket_layout(const std::vector<parameter_info>& parameters,
                                 size_t first_bytes, size_t bytes) {
  std::vector<size_t> starts;
  size_t end = 0;
  for (const parameter_info& one : parameters) {
    starts.push_back(one.offset);
    end = std::max(end, one.offset + one.count);
  }
  std::sort(starts.begin(), starts.end());
  bucket_layout out;
  // Enough buckets that reducing overlaps with the backward pass, none so small
  // that latency dominates its cost.
  bytes = std::min(bytes, std::max(first_bytes, end * sizeof(float) / 16));
  const size_t least = std::max<size_t>(1, first_bytes / sizeof(float));
  const size_t most = std::max<size_t>(1, bytes / sizeof(float));
  while (end > 0) {
    size_t begin = out.buckets.empty() ? end - std::min(least, end)
                                       : begin_of_bucket(starts, end, most);
    if (begin == 0 && end >= 2 * least)
      begin = least; // the last one cannot overlap: keep it short
    out.buckets.push_back({begin, end - begin});
    end = begin;
  }
  place(parameters, out);
  return out;
}

bucket_layout leave_out(const bucket_layout& of,
                        const std::vector<parameter_info>& parameters,
                        const std::vector<update_range>& still) {
  bucket_layout out;
  for (const bucket& one : of.buckets) {
    // From its end to its begin, as buckets follow each other.
    size_t end = one.offset + one.count;
    const auto add = [&](size_t begin) {
      if (begin < end)
        out.buckets.push_back({begin, end - begin});
    };
    for (auto gap = still.rbegin(); gap != still.rend(); ++gap) {
      const size_t gap_end = gap->first + gap->count;
      if (gap->first >= end || gap_end <= one.offset)
        continue;
      add(std::max(gap_end, one.offset));
      end = std::max(gap->first, one.offset);
    }
    add(one.offset);
  }
  place(parameters, out);
  return out;
}

uint64_t layout_hash(const bucket_layout& layout) {
  uint64_t hash = layout.buckets.size();
  for (const bucket& one : layout.buckets)
    hash = mix(hash, mix(one.offset, one.count));
  return hash;
}

} // namespace ballast::gpu
