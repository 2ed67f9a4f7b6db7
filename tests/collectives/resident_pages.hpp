// How much of a block of memory the system has given already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace ballast::collectives {

/// Of the pages that lie within these floats; `at` lies in a mapping of its
/// own.
inline size_t resident_pages(const float* at, size_t floats) {
  const size_t page = size_t(::sysconf(_SC_PAGESIZE));
  const uintptr_t begin =
      (reinterpret_cast<uintptr_t>(at) + page - 1) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(at + floats) / page * page;
  if (end <= begin)
    return 0;
  std::vector<unsigned char> is_there((end - begin) / page);
  if (::mincore(reinterpret_cast<void*>(begin), end - begin, is_there.data()) !=
      0)
    return 0;
  size_t out = 0;
  for (unsigned char one : is_there)
    out += one & 1;
  return out;
}

} // namespace ballast::collectives
