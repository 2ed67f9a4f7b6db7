/// What a worker reads from the disks of its own machine instead of asking the
/// origin: the prepared set, where it lies there, or else the chunks that it
/// keeps on a disk because its memory has no room for them. Thread-safe.
#pragma once

#include "actors/chunk_fetcher.hpp"
#include "data/store/chunk_disk.hpp"
#include "data/store/nearby_set.hpp"

#include <atomic>
#include <memory>
#include <span>
#include <vector>

namespace ballast::actors {

class nearby_rows {
public:
  /// Either may be null; both: everything comes from the origin.
  nearby_rows(std::unique_ptr<data::nearby_set> set,
              std::unique_ptr<data::chunk_disk> kept, ledger::row_shape row);

  /// Puts chunks into the store, until it is given up; what is left in `wanted`
  /// is for the origin. A set that cannot be read is said once, and not read
  /// again. Throws ballast_error{device_failed} (no room).
  void bring(wanted_chunks& wanted, const chunk_fetcher::terms& how);
  /// Single rows as one chunk in their order; null: ask the origin.
  data::chunk_ptr rows(data::data_part part,
                       std::span<const ledger::row_ref> wanted);

  /// Whether all chunks can be read here, as far as is known.
  bool has_set() const { return usable_; }
  uint64_t bytes_of_set() const { return from_set_; }
  uint64_t bytes_kept() const { return from_kept_; }
  /// Whether chunks of the origin are to be kept: else neither of the following
  /// is called.
  bool keeps() const { return kept_ != nullptr; }
  /// Training chunks that came from the origin, those that are in the store.
  void keep(const data::chunk_store& from, std::span<const chunk_id> arrived);
  /// All others are used no more.
  void keep_only(const std::vector<bool>& used);

private:
  data::chunk_ptr read(data::data_part part, chunk_id id);
  /// Null from the first failure on.
  data::chunk_ptr read_set(data::data_part part, chunk_id id);

  std::unique_ptr<data::nearby_set> set_;
  std::unique_ptr<data::chunk_disk> kept_;
  ledger::row_shape row_;
  std::atomic<bool> usable_; // the set
  std::atomic<uint64_t> from_set_{0};
  std::atomic<uint64_t> from_kept_{0};
};

} // namespace ballast::actors
