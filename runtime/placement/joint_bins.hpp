/// What rows are counted by where a job balances other columns than the label:
/// the joint values of up to a few of them. A column of many numbers is cut
/// into bins of about equally many rows, one of many texts keeps the most
/// frequent; what is missing is a value of its own. Only combinations that
/// occur are counted. The model never sees them. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ballast {

/// A column as it stands in a table, each cell by the number of its text in the
/// order of first appearance.
struct kept_column {
  std::string name;
  std::vector<uint32_t> cells;    // by row
  std::vector<std::string> texts; // by cell; empty: missing
};

/// Numbers of texts, in the order of first appearance.
class text_numbers {
public:
  text_numbers() = default;
  /// Those that `texts` have already: different ones.
  explicit text_numbers(const std::vector<std::string>& texts);
  /// Puts a text that has none at the end of `texts`, always the same ones.
  uint32_t of(std::string_view text, std::vector<std::string>& texts);

private:
  std::map<std::string, uint32_t, std::less<>> numbers_;
};

/// The rows of `more` after those of `to`, texts that are equal under one
/// number.
void append(kept_column& to, const kept_column& more);

constexpr uint32_t texts_max = 64;         // of one column, the rest together
constexpr uint32_t joint_bins_max = 4'096; // a chunk counts its rows by each

struct joint_bins {
  uint32_t count = 0;
  std::vector<int32_t> of_row; // in [0, count)
};

/// `rows`: those to train on, which decide about bins. Rows beside them with a
/// combination that none of these has are in a bin of their own, the last one.
/// More combinations than joint_bins_max: only `count` says so.
/// Preconditions: at least one column, all with as many cells; `rows` not
/// empty.
joint_bins bins_of_columns(std::span<const kept_column> columns,
                           std::span<const uint64_t> rows);

} // namespace ballast
