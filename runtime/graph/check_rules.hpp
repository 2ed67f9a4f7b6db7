/// The rules of a node `check`: what the values of its columns must be, and
/// what becomes of those that are not. A value, parsed of the JSON of the job;
/// pure.
#pragma once

#include "runtime/base/errors.hpp"
#include "runtime/base/words.hpp"
#include "runtime/graph/operator_catalogue.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ballast::graph {

struct node;

/// What becomes of a value that breaks its rule.
enum class check_action : uint8_t { remove, clip, null, mark };

/// A whole number is uint64 only if it is beyond int64.
using check_value = std::variant<bool, int64_t, uint64_t, double, std::string>;

struct check_limit {
  check_value at;    // a number, or a date or time as text
  bool open = false; // the limit itself is not allowed
};

/// Of one column; a value that is missing breaks `not_null` alone.
struct check_rule {
  std::string column;
  std::optional<column_type> type;
  bool not_null = false;
  std::optional<check_limit> low;
  std::optional<check_limit> high;
  std::string matches;         // empty: any text
  std::vector<check_value> in; // empty: any value
  check_action then = check_action::remove;
};

struct check_result {
  std::vector<check_rule> rules; // in the order of the columns' names
  /// Its pointer is that below the node: "/rules/age/min".
  failure mistake;
};
/// Precondition: the node is a `check`.
check_result check_rules_of(const node& one);

} // namespace ballast::graph

namespace ballast {

template <>
inline constexpr auto words_of<graph::check_action> =
    std::to_array<std::string_view>({"remove", "clip", "null", "mark"});

} // namespace ballast
