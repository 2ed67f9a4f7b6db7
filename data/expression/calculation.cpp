// The part of expression_binder that computes numbers.
#include "data/expression/binding.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

bool is_moment(const arrow::DataType& type) {
  return arrow::is_temporal(type.id()) || type.id() == arrow::Type::DURATION;
}

bool is_any(const std::vector<typed_expression>& parts,
            bool (*condition)(arrow::Type::type)) {
  return std::any_of(parts.begin(), parts.end(), [&](const auto& one) {
    return condition(one.type->id());
  });
}

std::string number_hint(const typed_expression& part) {
  const std::string shown = print_briefly(*part.node);
  switch (family_of(*part.type)) {
  case type_family::text:
    return "; write cast(" + shown +
           " as float64), or concat(a, b) to join "
           "texts";
  case type_family::boolean:
    return "; write cast(" + shown + " as int64)";
  default:
    return {};
  }
}

} // namespace

typed_expression expression_binder::calculate(const expression_node& node,
                                              const std::string& symbol,
                                              typed_expression left,
                                              typed_expression right) const {
  std::vector<typed_expression> sides{std::move(left), std::move(right)};
  // Differences of times, and times later or earlier, are Arrow's business.
  if ((symbol == "+" || symbol == "-") && is_moment(*sides[0].type) &&
      is_moment(*sides[1].type))
    return call(node, symbol == "+" ? "add_checked" : "subtract_checked",
                std::move(sides), nullptr, symbol);
  for (const typed_expression& one : sides)
    if (!is_number(*one.type) && family_of(*one.type) != type_family::null)
      refuse(node, "\"" + symbol + "\" needs numbers, found " + describe(one) +
                       number_hint(one));
  const bool decimal = is_any(sides, arrow::is_decimal);
  const bool floating = symbol == "/" || (decimal && symbol == "%") ||
                        is_any(sides, arrow::is_floating);
  const std::vector<typed_expression> before = sides;
  for (typed_expression& one : sides)
    one = as(one, floating ? arrow::float64() : arithmetic_type(before, one));
  const char* function = symbol == "+"   ? "add_checked"
                         : symbol == "-" ? "subtract_checked"
                         : symbol == "*" ? "multiply_checked"
                         : symbol == "%" ? "remainder"
                         // What `div` becomes; of floats as IEEE has it.
                         : floating ? "divide"
                                    : "divide_checked";
  return call(node, function, std::move(sides), nullptr, symbol);
}

typed_expression expression_binder::negate(const expression_node& node,
                                           typed_expression operand) const {
  if (!is_number(*operand.type) &&
      family_of(*operand.type) != type_family::null &&
      operand.type->id() != arrow::Type::DURATION)
    refuse(node, "\"-\" needs a number, found " + describe(operand) +
                     number_hint(operand));
  const type_family family = family_of(*operand.type);
  if (family == type_family::integer || family == type_family::null)
    operand = as(operand, arrow::int64());
  else if (family == type_family::floating)
    operand = as(operand, arrow::float64());
  return call(node, "negate_checked", {std::move(operand)}, nullptr, "-");
}

} // namespace ballast::data
