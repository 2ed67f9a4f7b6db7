/// Which rows of a table belong to a part of a set, by sample: all of them, for
/// which nothing is stored, or some, in 4 bytes each (8 beyond 2^32 rows). A
/// value; any thread reads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace ballast::data {

class row_numbers {
public:
  row_numbers() = default;
  static row_numbers all(uint64_t count) {
    row_numbers out;
    out.count_ = count;
    return out;
  }
  /// Ascending.
  static row_numbers some(const std::vector<uint64_t>& rows) {
    row_numbers out;
    out.all_ = false;
    out.count_ = rows.size();
    if (rows.empty() || rows.back() <= UINT32_MAX)
      out.narrow_.assign(rows.begin(), rows.end());
    else
      out.wide_ = rows;
    return out;
  }
  /// The others of `count` rows.
  static row_numbers without(uint64_t count,
                             const std::vector<uint64_t>& rows) {
    if (rows.empty())
      return all(count);
    row_numbers out;
    out.all_ = false;
    out.count_ = count - rows.size();
    const bool narrow = count - 1 <= UINT32_MAX;
    narrow ? out.narrow_.reserve(out.count_) : out.wide_.reserve(out.count_);
    auto next = rows.begin();
    for (uint64_t row = 0; row < count; ++row)
      if (next != rows.end() && *next == row)
        ++next;
      else if (narrow)
        out.narrow_.push_back(uint32_t(row));
      else
        out.wide_.push_back(row);
    return out;
  }

  bool are_all() const { return all_; }
  uint64_t size() const { return count_; }
  uint64_t operator[](uint64_t sample) const {
    if (all_)
      return sample;
    return narrow_.empty() ? wide_[sample] : narrow_[sample];
  }
  std::vector<uint64_t> listed() const {
    std::vector<uint64_t> out(count_);
    for (uint64_t i = 0; i < count_; ++i)
      out[i] = (*this)[i];
    return out;
  }

private:
  bool all_ = true;
  uint64_t count_ = 0;
  std::vector<uint32_t> narrow_;
  std::vector<uint64_t> wide_;
};

} // namespace ballast::data
