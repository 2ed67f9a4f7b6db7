#include "data/expression/syntax.hpp"

#include "data/expression/calendar.hpp"
#include "data/expression/expression_text.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace ballast::data {

namespace {

/// How tightly an expression binds, the loosest first.
enum binding_strength : int {
  of_or = 1,
  of_and,
  of_not,
  of_predicate,
  of_sum,
  of_product,
  of_sign,
  of_value,
};

binding_strength strength_of(const expression_node& node) {
  switch (node.kind) {
  case node_kind::disjunction:
    return of_or;
  case node_kind::conjunction:
    return of_and;
  case node_kind::invert:
    return of_not;
  case node_kind::comparison:
  case node_kind::is_null:
  case node_kind::in_list:
  case node_kind::between:
  case node_kind::like:
    return of_predicate;
  case node_kind::arithmetic:
    return node.name == "+" || node.name == "-" ? of_sum : of_product;
  case node_kind::negate:
    return of_sign;
  default:
    return of_value;
  }
}

std::string in_quotes(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    out += c;
    if (c == quote)
      out += c;
  }
  return out + quote;
}

std::string print_number(double number) {
  std::array<char, 40> out{};
  const auto end = std::to_chars(out.data(), out.data() + out.size(), number);
  std::string text(out.data(), end.ptr);
  if (text.find_first_of(".e") == std::string::npos)
    text += ".0"; // stays a float
  return text;
}

/// Appends to one text, so that a long chain costs no copies.
struct printer {
  std::string out;

  void print(const expression_node& node, int least) {
    if (strength_of(node) >= least)
      return print(node);
    out += '(';
    print(node);
    out += ')';
  }

  void join(const expression_node& node, size_t first, std::string_view by,
            int least) {
    for (size_t i = first; i < node.children.size(); ++i) {
      if (i > first)
        out += by;
      print(*node.children[i], least);
    }
  }

  void operand(const expression_node& node, std::string_view word) {
    print(*node.children[0], of_sum);
    out += node.negated ? " not " : " ";
    out += word;
  }

  void print(const expression_node& node) {
    switch (node.kind) {
    case node_kind::literal:
      out += print_literal(node.value);
      break;
    case node_kind::column:
      out += is_bare_name(node.name) && !is_keyword(lower_case(node.name))
                 ? node.name
                 : in_quotes(node.name, '"');
      break;
    case node_kind::negate:
      out += '-';
      // -2 would be the number itself.
      print(*node.children[0], node.children[0]->kind == node_kind::literal
                                   ? of_value + 1
                                   : of_sign);
      break;
    case node_kind::invert:
      out += "not ";
      print(*node.children[0], of_not);
      break;
    case node_kind::conjunction:
      join(node, 0, " and ", of_not);
      break;
    case node_kind::disjunction:
      join(node, 0, " or ", of_and);
      break;
    case node_kind::call:
      out += node.name + "(";
      join(node, 0, ", ", of_or);
      out += ')';
      break;
    case node_kind::cast:
      out += "cast(";
      print(*node.children[0]);
      out += " as " + node.name + ")";
      break;
    default:
      print_infix(node);
    }
  }

  void print_infix(const expression_node& node) {
    switch (node.kind) {
    case node_kind::is_null:
      print(*node.children[0], of_sum);
      out += node.negated ? " is not null" : " is null";
      break;
    case node_kind::in_list:
      operand(node, "in (");
      join(node, 1, ", ", of_value);
      out += ')';
      break;
    case node_kind::between:
      operand(node, "between ");
      join(node, 1, " and ", of_sum);
      break;
    case node_kind::like:
      operand(node, "like ");
      print(*node.children[1], of_value);
      break;
    case node_kind::comparison:
    case node_kind::arithmetic: {
      const int own = strength_of(node);
      // A comparison takes no comparison, a sum takes another on its left.
      print(*node.children[0], own == of_predicate ? own + 1 : own);
      out += " " + node.name + " ";
      print(*node.children[1], own + 1);
      break;
    }
    default:
      BALLAST_CHECK(false, "no operator");
    }
  }
};

} // namespace

std::string print_literal(const literal_value& value) {
  struct {
    std::string operator()(const literal_null&) const { return "null"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(int64_t n) const { return std::to_string(n); }
    std::string operator()(uint64_t n) const { return std::to_string(n); }
    std::string operator()(double n) const { return print_number(n); }
    std::string operator()(const std::string& text) const {
      return in_quotes(text, '\'');
    }
    std::string operator()(const literal_date& date) const {
      return "date '" + print_date(date) + "'";
    }
    std::string operator()(const literal_time& time) const {
      return "timestamp '" + print_time(time) + "'";
    }
  } print;
  return std::visit(print, value);
}

bool same_meaning(const expression_node& a, const expression_node& b) {
  return a.kind == b.kind && a.negated == b.negated && a.name == b.name &&
         a.value == b.value &&
         std::equal(a.children.begin(), a.children.end(), b.children.begin(),
                    b.children.end(),
                    [](const node_pointer& left, const node_pointer& right) {
                      return same_meaning(*left, *right);
                    });
}

std::string print_expression(const expression_node& node) {
  printer to;
  to.print(node);
  return std::move(to.out);
}

std::string print_briefly(const expression_node& node) {
  constexpr size_t shown_max = 40;
  return printable(print_expression(node), shown_max);
}

bool is_keyword(std::string_view lower) {
  constexpr std::array<std::string_view, 10> words{
      "and",     "or",   "not",  "is",   "in",
      "between", "like", "null", "true", "false"};
  return std::find(words.begin(), words.end(), lower) != words.end();
}

} // namespace ballast::data
