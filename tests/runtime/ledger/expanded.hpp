/// Runs of ids as the plain list that they stand for.
#pragma once

#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <vector>

namespace ballast::ledger {

inline std::vector<uint64_t> expand(const std::vector<id_run>& runs) {
  std::vector<uint64_t> out;
  for (const id_run& run : runs)
    for (uint64_t i = 0; i < run.count; ++i)
      out.push_back(run.first + i);
  return out;
}

} // namespace ballast::ledger
