/// The chunks that this process holds in memory, under a limit. Residency is a
/// cache: a missing chunk costs a fetch, never correctness. Thread-safe.
#pragma once

#include "data/store/chunk.hpp"
#include "runtime/ledger/sequence.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ballast::data {

class chunk_store {
public:
  explicit chunk_store(uint64_t limit_bytes);
  ~chunk_store();

  /// Null if the chunk is not here.
  chunk_ptr find(data_part part, chunk_id id) const;
  /// By number, true for each of the first `count` chunks that is here.
  std::vector<bool> held(data_part part, size_t count) const;
  /// out[i] = where rows[i] lies, all looked up at once; their chunks stay
  /// valid while `out` holds them. Returns the number of rows that are not
  /// here.
  size_t find_all(data_part part, std::span<const ledger::row_ref> rows,
                  std::vector<row_place>& out) const;
  /// Likewise, of the places that are still empty.
  size_t find_more(data_part part, std::span<const ledger::row_ref> rows,
                   std::vector<row_place>& out) const;
  /// Replaces a chunk of the same number. In a full store what is used later
  /// makes room, once expect() said what that is; false: nothing is, and the
  /// chunk is not taken in. `needed_now`: it is taken in all the same. Throws
  /// ballast_error{device_failed} that names the limit if there is no room.
  bool put(data_part part, chunk_ptr what, bool needed_now = false);
  /// Training chunks by their next use, each once; all others are used later
  /// (Belady, "A study of replacement algorithms for a virtual-storage
  /// computer", IBM Systems Journal 5(2), 1966, doi:10.1147/sj.52.0078: drop
  /// what is used last). O(chunks).
  void expect(std::span<const chunk_id> upcoming);
  void drop(data_part part, chunk_id id);
  /// Drops all chunks but those whose number has true here; how many went.
  size_t keep_only(data_part part, const std::vector<bool>& kept);
  uint64_t bytes() const;
  /// Chunks in the store stay, also above a new limit.
  void set_limit(uint64_t bytes);
  uint64_t limit_bytes() const;
  size_t count(data_part part) const;

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace ballast::data
