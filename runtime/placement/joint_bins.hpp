/// Bins of joint column values, for jobs that balance other columns than the
/// label. A column of many numbers is cut into bins with about equally many
/// rows, one of many texts keeps its most frequent; a missing cell is a value
/// of its own. Only combinations that occur are counted. The model never sees
/// them. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::placement {

/// A table column; each cell holds the number of its text, in the order of
/// first appearance.
struct kept_column {
  std::string name;
  std::vector<uint32_t> cells;    // by row
  std::vector<std::string> texts; // by cell; empty: missing
};

/// Assigns numbers to texts in the order of first appearance.
class text_numbers {
public:
  text_numbers() = default;
  /// Starts with `texts`, which must be distinct.
  explicit text_numbers(const std::vector<std::string>& texts);
  /// The number of a text; a new one is appended to `texts`, which must be the
  /// same object in every call.
  uint32_t of(std::string_view text, std::vector<std::string>& texts);

private:
  std::map<std::string, uint32_t, std::less<>> numbers_;
};

/// Appends the rows of `more` to those of `to`; equal texts share a number.
void append(kept_column& to, const kept_column& more);

constexpr uint32_t texts_max = 64;         // of a column; others share a bin
constexpr uint32_t joint_bins_max = 4'096; // a chunk counts its rows by each

struct joint_bins {
  uint32_t count = 0;
  std::vector<int32_t> of_row; // in [0, count)
};

/// `rows` are the training rows; only they define the bins. Other rows whose
/// combination does not occur in training share the last bin. If there are more
/// than joint_bins_max combinations, only `count` is set. Preconditions: at
/// least one column, all of equal length; `rows` not empty.
joint_bins bins_of_columns(std::span<const kept_column> columns,
                           std::span<const uint64_t> rows);

} // namespace ballast::placement
