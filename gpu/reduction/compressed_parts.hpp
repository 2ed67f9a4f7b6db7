/// Which gradients travel compressed, and with which bucket. A function of the
/// parameters, the layout and the job alone, so equal on every rank. Pure.
///
/// Biases, scales of norms and tensors below 4 KiB (of topk below 32) stay as
/// they are: they are a small part of the bytes, and the part that suffers
/// most.
#pragma once

#include "gpu/bucket_layout.hpp"
#include "gpu/model.hpp"
#include "runtime/job/job.hpp"

#include <cstddef>
#include <vector>

namespace ballast::gpu {

/// Elements of an arena.
struct arena_range {
  size_t offset = 0;
  size_t count = 0;
};

/// A parameter as a matrix: its first dimension by all others.
struct matrix_part {
  size_t at = 0; // its first element, among the packed values of its bucket
  size_t rows = 0;
  size_t columns = 0;
  size_t rank = 0;      // columns of its factors
  size_t parameter = 0; // index
};

struct compressed_parts {
  struct of_bucket {
    std::vector<arena_range> ranges;   // packed one after another
    std::vector<matrix_part> matrices; // powersgd: what they are
    size_t count = 0;                  // of all ranges
  };
  /// By bucket. A matrix is sent whole, with the last bucket that has a part of
  /// it.
  std::vector<of_bucket> buckets;
  /// What is not compressed; sent with the last bucket.
  std::vector<arena_range> plain;
  size_t plain_count = 0;
};

compressed_parts
lay_out_compressed(const std::vector<parameter_info>& parameters,
                   const bucket_layout& layout, const train_spec& how);

} // namespace ballast::gpu
