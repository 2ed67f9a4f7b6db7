/// A prepared data set on disk: manifest.json, train.arrow, test.arrow (Arrow
/// IPC files, batch i = chunk i) in one folder of the cache, complete or
/// absent. Read through memory maps.
#pragma once

#include "data/chunk.hpp"
#include "runtime/job.hpp"
#include "runtime/manifest.hpp"

#include <filesystem>
#include <memory>

namespace ballast {

class prepared_set {
public:
  /// Opens a folder that `prepare` made; ballast_error{invalid_data} if it is
  /// not whole.
  static std::shared_ptr<prepared_set>
  open(const std::filesystem::path& folder);
  virtual ~prepared_set() = default;
  virtual const manifest& about() const = 0;
  /// The record batch of a chunk, straight from the map. Any thread.
  virtual chunk_ptr read(data_part part, chunk_id id) const = 0;
};

/// Reads the job's sources, applies the pipeline, places the rows on
/// job.elastic.workers workers and cuts chunks. Cached by content under
/// `cache_folder`; a second call with equal content costs milliseconds.
/// Throws ballast_error{invalid_data} that names file, row and column;
/// nothing half-written stays behind.
std::shared_ptr<prepared_set>
prepare(const job& what, const std::filesystem::path& cache_folder);

/// $BALLAST_CACHE, or ~/.cache/ballast.
std::filesystem::path default_cache_folder();

} // namespace ballast
