#include "runtime/base/open_files.hpp"

namespace ballast {

namespace {

// The highest counts measured, with two workers killed meanwhile, were 32 plus
// 2 for each worker, in workers and in the coordinator. Twice as many leave
// room for data files and for HTTP clients.
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
