/// A source that is read in no time, and a cache folder of its own for it.
#pragma once

#include "runtime/job/job.hpp"
#include "tests/data/source_builders.hpp"

#include <filesystem>

namespace ballast::data {

/// 11 images of 2 x 3 pixels, 3 classes.
struct tiny_idx {
  temporary_folder folder;
  std::filesystem::path cache = folder / "cache";
  job what = job_of(idx_source(folder.write("images", idx_images(11)),
                               folder.write("labels", idx_labels(11, 3))));
};

} // namespace ballast::data
