/// Counts how often an epoch uses each of N things, and compares that with how
/// often it should. A plain value. Memory: two bits for each thing if each is
/// used once, else four bytes.
#pragma once

#include <cstdint>
#include <vector>

namespace ballast::ledger {

/// How often committed steps use the samples of finished epochs, and of the
/// unfinished one so far.
struct sample_counts {
  uint64_t expected = 0;
  uint64_t once = 0;     // of these, each made once
  uint64_t lost = 0;     // finished epochs only
  uint64_t repeated = 0; // uses beyond those expected, within an epoch
  sample_counts& operator+=(const sample_counts& more);
  friend bool operator==(const sample_counts&, const sample_counts&) = default;
};

class use_counter {
public:
  /// `once`: one use of each is expected.
  use_counter(uint64_t size, bool once);
  void add(uint64_t which);
  void clear();
  uint64_t size() const { return size_; }
  /// `expected`: the uses of each; empty: one of each, if that was said.
  /// `over`: no more will come; else what is missing is not expected yet.
  sample_counts compared(const std::vector<uint32_t>& expected,
                         bool over) const;

private:
  uint64_t size_;
  std::vector<bool> once_, again_;
  uint64_t distinct_ = 0, met_again_ = 0, repeated_ = 0;
  std::vector<uint32_t> times_; // instead, if each may have any number
};

} // namespace ballast::ledger
