#include "runtime/base/open_files.hpp"

namespace ballast {

namespace {

// Seen at most, with two workers killed on the way: 32 and 2 for each worker,
// in the workers themselves and in the coordinator. Twice as much leaves room
// for the files of the data, and for whoever looks at the page.
constexpr uint64_t of_a_process = 64;
constexpr uint64_t of_each_worker = 4;

} // namespace

uint64_t open_files_needed(uint32_t workers) {
  return of_a_process + of_each_worker * workers;
}

std::string open_files_problem(uint64_t limit, uint32_t workers) {
  const uint64_t needed = open_files_needed(workers);
  if (limit >= needed)
    return {};
  return "the limit of open files is " + std::to_string(limit) + ", at least " +
         std::to_string(needed) + " are needed for " + std::to_string(workers) +
         (workers == 1 ? " worker" : " workers") +
         ": raise it with `ulimit -n " + std::to_string(needed) + "`";
}

} // namespace ballast
