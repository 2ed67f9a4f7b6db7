/// What an expression says, as a tree: made by the parser, printed in one
/// canonical form, and bound to a schema. Plain values, immutable once they are
/// shared; pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace ballast::data {

struct literal_null {
  bool operator==(const literal_null&) const = default;
};
struct literal_date {
  int32_t days = 0; // since 1970
  bool operator==(const literal_date&) const = default;
};
struct literal_time {
  int64_t microseconds = 0; // since 1970, UTC if it has a zone
  bool zoned = false;
  bool operator==(const literal_time&) const = default;
};
/// uint64_t only beyond int64_t.
using literal_value =
    std::variant<literal_null, bool, int64_t, uint64_t, double, std::string,
                 literal_date, literal_time>;

std::string print_literal(const literal_value& value);
inline bool is_number(const literal_value& value) {
  return std::holds_alternative<int64_t>(value) ||
         std::holds_alternative<uint64_t>(value) ||
         std::holds_alternative<double>(value);
}

enum class node_kind : uint8_t {
  literal,
  column,      // name
  negate,      // -a
  invert,      // not a
  arithmetic,  // name: + - * / %
  comparison,  // name: = != < <= > >=
  conjunction, // a and b and ...
  disjunction,
  is_null,
  in_list, // of literals
  between, // a between b and c
  like,    // of a literal
  call,    // name, in lower case
  cast,    // name: the type
};

struct expression_node {
  node_kind kind = node_kind::literal;
  bool negated = false; // is not null, not in, not between, not like
  std::string name;
  literal_value value;
  std::vector<std::shared_ptr<const expression_node>> children;
  size_t at = 0; // byte of the text, for errors; no part of its meaning
  /// Of the tree, and its nodes as they are computed: `between` computes its
  /// operand twice.
  uint32_t height = 1;
  uint64_t cost = 1;
};

using node_pointer = std::shared_ptr<const expression_node>;

bool same_meaning(const expression_node& a, const expression_node& b);
/// With the fewest parentheses.
std::string print_expression(const expression_node& node);
/// The same, cut off for a message.
std::string print_briefly(const expression_node& node);
/// Words that are no names of columns unless they are in double quotes.
bool is_keyword(std::string_view lower);

} // namespace ballast::data
