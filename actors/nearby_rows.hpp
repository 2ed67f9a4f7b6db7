/// What a worker reads of its run's set from the disk of its own machine, where
/// the prepared set lies there; the rest comes from the origin. Thread-safe.
#pragma once

#include "actors/chunk_fetcher.hpp"
#include "data/nearby_set.hpp"

#include <atomic>
#include <memory>
#include <span>

namespace ballast::actors {

class nearby_rows {
public:
  /// `set` null: everything comes from the origin.
  nearby_rows(std::unique_ptr<data::nearby_set> set, ledger::row_shape row);

  /// Puts chunks into the store, until it is given up; what is left in `wanted`
  /// is for the origin. A chunk that cannot be read is said once; from then on
  /// nothing is read here. Throws ballast_error{device_failed} (no room).
  void bring(wanted_chunks& wanted, const chunk_fetcher::terms& how);
  /// Single rows as one chunk in their order; null: ask the origin.
  data::chunk_ptr rows(data::data_part part,
                       std::span<const ledger::row_ref> wanted);

private:
  /// Null from the first failure on.
  data::chunk_ptr read(data::data_part part, chunk_id id);

  std::unique_ptr<data::nearby_set> set_;
  ledger::row_shape row_;
  std::atomic<bool> usable_;
};

} // namespace ballast::actors
