/// Where the rows of a step come from: the seam between the ledger, which says
/// which rows a step consumes, and residency, which knows where their bytes are
/// at the moment. Wrong residency costs time, never correctness: any source
/// gives the same bytes for the same rows.
#pragma once

#include "data/loader/batch.hpp"
#include "data/store/chunk_store.hpp"

#include <cstdint>
#include <functional>
#include <span>

namespace ballast::data {

/// Where rows came from that were not in memory, since the beginning.
struct bytes_read {
  uint64_t origin = 0; // over the network, or a socket of this machine
  uint64_t set = 0;    // the prepared set on a disk of this machine
  uint64_t kept = 0;   // chunks that the worker keeps on a disk
  /// Of these, in requests that are over, and how long those took.
  uint64_t timed = 0;
  uint64_t timed_ns = 0;
};

class row_source {
public:
  /// Polled while a call waits, from any thread; true: the rows are wanted no
  /// more. May be empty.
  using question = std::function<bool()>;

  virtual ~row_source() = default;
  /// out = the rows in the given order, as ballast::gather(), once their bytes
  /// are here. One thread at a time. Throws ballast_error that names what is
  /// missing; {unreachable} if it is given up.
  virtual void gather(data_part part, std::span<const ledger::row_ref> rows,
                      const question& given_up, batch& out) = 0;
  /// What later steps use: training chunks by their next use, each once. Of
  /// runs that draw from a window; else never called.
  virtual void expect(std::span<const chunk_id> upcoming) { (void)upcoming; }
  /// A step's gradients travel from here on, or no more: what no step waits for
  /// leaves them the link. Any thread.
  virtual void reducing(bool begins) { (void)begins; }
  /// Any thread.
  virtual bytes_read read_so_far() const { return {}; }
  /// A whole chunk, likewise.
  virtual chunk_ptr chunk_of(data_part part, chunk_id id,
                             const question& given_up) = 0;
};

/// Rows of chunks that all lie in a store.
class resident_rows final : public row_source {
public:
  /// `store` must outlive this.
  resident_rows(const chunk_store& store, ledger::row_shape row)
      : store_(store), row_(std::move(row)) {}

  void gather(data_part part, std::span<const ledger::row_ref> rows,
              const question& given_up, batch& out) override;
  chunk_ptr chunk_of(data_part part, chunk_id id,
                     const question& given_up) override;

private:
  const chunk_store& store_;
  const ledger::row_shape row_;
};

} // namespace ballast::data
