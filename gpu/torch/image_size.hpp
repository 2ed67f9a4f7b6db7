/// The image size of rows.
#pragma once

#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <string>

namespace ballast::gpu {

struct image_size {
  int64_t channels = 0;
  int64_t height = 0;
  int64_t width = 0;
};

/// From the shape of a row: height x width, or channels x height x width.
/// ballast_error{invalid_job, "/model/kind"} for other shapes.
image_size image_of(const ledger::row_shape& row,
                    const std::string& model_kind);

} // namespace ballast::gpu
