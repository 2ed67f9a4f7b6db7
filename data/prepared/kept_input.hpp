/// Standard input as a file of the cache: it can be read once, while a run that
/// goes on later, or has to prepare its data again, needs its rows again. The
/// name follows from the content, so that the same rows are kept once.
///
/// One thread; several processes at once are safe. Throws
/// ballast_error{invalid_data} if there is nothing to read, disk_full or
/// run_dir_unusable with the path.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ballast::data {

struct kept_input {
  std::filesystem::path file;
  uint64_t bytes = 0;
  int64_t since_ns = 0; // 1970
};

/// All that `descriptor` has, up to its end. `ending`: of the file's name, such
/// as ".csv". Of what was kept before, the oldest goes where the sum exceeds
/// `limit_bytes`.
kept_input keep_input(int descriptor, const std::filesystem::path& cache,
                      const std::string& ending, uint64_t limit_bytes);

/// What is kept there, the oldest first.
std::vector<kept_input> kept_inputs(const std::filesystem::path& cache);
/// Removes all of it; returns what was there.
std::vector<kept_input> forget_inputs(const std::filesystem::path& cache);

} // namespace ballast::data
