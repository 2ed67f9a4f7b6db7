/// Features of rows that are not in memory: they lie somewhere in an order of
/// their own, which is read from front to back at the speed of a disk, and row
/// by row much more slowly.
#pragma once

#include "runtime/ledger/manifest.hpp"

#include <cstdint>

namespace ballast::data {

class stored_rows {
public:
  virtual ~stored_rows() = default;
  /// Type of the values as they lie there; the table's own type holds each.
  virtual ledger::stored_type stored() const = 0;
  /// The place of a row of the table in that order, all in [0, rows).
  virtual uint64_t place_of(uint64_t row) const { return row; }
  /// The rows of these places, one after another. Any thread. Throws
  /// ballast_error.
  virtual void read(uint64_t first, uint64_t count,
                    unsigned char* out) const = 0;
  /// One of them for a look ahead: all are read later, which finds damage.
  virtual void look_at(uint64_t place, unsigned char* out) const {
    read(place, 1, out);
  }
};

} // namespace ballast::data
