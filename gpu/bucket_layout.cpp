#include "gpu/bucket_layout.hpp"

#include "runtime/random.hpp"

#include <algorithm>

namespace ballast {

bucket_layout make_bucket_layout(const std::vector<parameter_info>& parameters,
                                 size_t first_bytes, size_t bytes) {
  size_t end = 0;
  for (const parameter_info& one : parameters)
    end = std::max(end, one.offset + one.count);
  bucket_layout out;
  // Enough buckets that reducing can hide behind the backward pass, none so
  // small that its latency is all it costs.
  bytes = std::min(bytes, std::max(first_bytes, end * sizeof(float) / 8));
  size_t want = std::max<size_t>(1, first_bytes / sizeof(float));
  const size_t tail = want;
  while (end > 0) {
    size_t count = std::min(want, end);
    if (count == end && count >= 2 * tail)
      count = end - tail; // nothing hides the last one: keep it short
    out.buckets.push_back({end - count, count});
    end -= count;
    want = std::max<size_t>(1, bytes / sizeof(float));
  }
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
  return out;
}

uint64_t layout_hash(const bucket_layout& layout) {
  uint64_t hash = layout.buckets.size();
  for (const bucket& one : layout.buckets)
    hash = mix(hash, mix(one.offset, one.count));
  return hash;
}

} // namespace ballast
