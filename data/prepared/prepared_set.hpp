/// A prepared data set on disk: manifest.json (and, of many chunks, the tables
/// of set_tables.hpp), train.arrow, test.arrow (Arrow IPC files, batch i =
/// chunk i) in one folder of the cache, complete or absent. Uses read calls,
/// not a memory map: truncating an open file must cause an error, not a SIGBUS.
#pragma once

#include "data/prepared/fragment_terms.hpp"
#include "data/store/chunk.hpp"
#include "runtime/job/job.hpp"
#include "runtime/ledger/manifest.hpp"
#include "store/work_watch.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace ballast::data {

class prepared_set {
public:
  virtual ~prepared_set() = default;
  /// Without samples if its JSON names tables.
  virtual const ledger::manifest& about() const = 0;
  /// Where it lies.
  virtual std::filesystem::path folder() const = 0;
  /// Reads a chunk's record batch and verifies the manifest's checksum;
  /// otherwise ballast_error{invalid_data} that names the file. Any thread.
  virtual chunk_ptr read(data_part part, chunk_id id) const = 0;
};

struct prepare_options {
  /// Ends the preparing with ballast_error{stopped}; shows that it gets on.
  store::work_watch stop = {};
  /// Told of a damaged set, and of columns that were left out, on any thread;
  /// may be empty.
  std::function<void(const std::string&)> warn = {};
  /// For the features of the sources' rows; what goes beyond it lies on the
  /// disk meanwhile. Nothing: a fourth of what this process may use.
  std::optional<uint64_t> rows_memory = {};
  /// How the files of a source are read apart, and by whom.
  fragment_terms apart = {};
};

/// Reads the job's sources, applies the pipeline, places the rows on
/// job.elastic.workers workers and cuts chunks. Of a job whose source is a
/// prepared set in a store, opens that. Cached by content under
/// `cache_folder`; a second call with equal content costs milliseconds. Throws
/// ballast_error{invalid_data} that names file, row and column; leaves nothing
/// half-written.
///
/// A cached set that is found damaged, now or when a chunk is read, is set
/// aside and prepared again from its sources, which takes as long as the first
/// time.
std::shared_ptr<prepared_set> prepare(const job& what,
                                      const std::filesystem::path& cache_folder,
                                      const prepare_options& options = {});

/// $BALLAST_CACHE; else ballast/ in $XDG_CACHE_HOME, in .cache/ of $HOME or of
/// the user's home folder; else /tmp/ballast-UID.
std::filesystem::path default_cache_folder();

} // namespace ballast::data
