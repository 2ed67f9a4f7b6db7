/// How many rows go through a model at once: as many as the job allows and the
/// device has room for. A size that did not fit is halved, down to one row; one
/// that has been computed with is proven, and only while a size is proven may a
/// gradient leave before the pass that completes it has ended: one that does
/// not fit is done over. Pure.
#pragma once

#include <cstdint>
#include <optional>

namespace ballast::worker {

class micro_batch {
public:
  /// `most`: the job's own limit.
  explicit micro_batch(std::optional<uint64_t> most = {});

  /// Of `left` rows, those of the next pass.
  uint32_t rows(uint64_t left) const;
  bool proven(uint32_t rows) const { return rows <= proven_; }

  /// A pass over so many rows ended.
  void fitted(uint32_t rows);
  /// There was no room for a pass over so many rows. False if that was one
  /// row: there is nothing to halve.
  bool did_not_fit(uint32_t rows);

private:
  uint64_t most_;
  uint32_t proven_ = 0;
};

} // namespace ballast::worker
