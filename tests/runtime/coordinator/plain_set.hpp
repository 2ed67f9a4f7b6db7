/// A set without labels, for tests that only ask who owns which rows.
#pragma once

#include "runtime/ledger/manifest.hpp"

#include <cstdint>
#include <vector>

namespace ballast::testing {

inline ledger::manifest plain_set(const std::vector<uint32_t>& chunk_rows) {
  ledger::manifest out;
  for (uint32_t rows : chunk_rows) {
    ledger::chunk_info chunk;
    chunk.id = chunk_id(uint32_t(out.train.size()));
    chunk.rows = rows;
    out.train.push_back(chunk);
    out.train_rows += rows;
  }
  return out;
}

} // namespace ballast::testing
