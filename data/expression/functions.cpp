// The functions of an expression: friendly names first, then Arrow's registry.
#include "data/base/arrow_support.hpp"
#include "data/expression/binding.hpp"
#include "runtime/base/nearest_word.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/compute/initialize.h>
#include <arrow/compute/registry.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace ballast::data {

namespace {

using arguments = std::vector<typed_expression>;
using maker = typed_expression (*)(expression_binder&, const expression_node&,
                                   arguments);

struct friendly_function {
  size_t least, most; // arguments
  const char* usage;
  maker make;
};

constexpr size_t any_count = size_t(-1);

void need_text(const expression_binder& binder, const expression_node& node,
               const typed_expression& part) {
  if (family_of(*part.type) != type_family::text)
    binder.refuse(node, "\"" + node.name + "\" needs a text, found " +
                            describe(part) + "; write cast(" +
                            print_briefly(*part.node) + " as text)");
}

template <const char* const& Function>
typed_expression of_text(expression_binder& binder, const expression_node& node,
                         arguments parts) {
  need_text(binder, node, parts[0]);
  return binder.call(node, Function, std::move(parts), nullptr, node.name);
}

constexpr const char* lower_function = "utf8_lower";
constexpr const char* upper_function = "utf8_upper";
constexpr const char* length_function = "utf8_length";
constexpr const char* trim_function = "utf8_trim_whitespace";

template <const char* const& Function>
typed_expression match(expression_binder& binder, const expression_node& node,
                       arguments parts) {
  need_text(binder, node, parts[0]);
  const auto* pattern = std::get_if<std::string>(&parts[1].node->value);
  if (!parts[1].is_literal() || pattern == nullptr)
    binder.refuse(*parts[1].node, "\"" + node.name +
                                      "\" needs a text in single quotes as its "
                                      "second argument, found " +
                                      describe(parts[1]));
  const arrow::compute::MatchSubstringOptions options(*pattern);
  // Arrow compiles a pattern when there is a row to match.
  const auto tried = arrow::compute::CallFunction(
      Function, {arrow::Datum(std::string())}, &options);
  if (!tried.ok())
    binder.refuse(*parts[1].node, "not a valid pattern (RE2): " +
                                      printable(tried.status().message(), 200));
  parts.resize(1);
  return binder.call(
      node, Function, std::move(parts),
      std::make_shared<arrow::compute::MatchSubstringOptions>(options),
      node.name);
}

constexpr const char* regex_function = "match_substring_regex";
constexpr const char* starts_function = "starts_with";
constexpr const char* ends_function = "ends_with";
constexpr const char* contains_function = "match_substring";

/// Arguments from this one on get one type.
template <const char* const& Function, size_t From>
typed_expression united(expression_binder& binder, const expression_node& node,
                        arguments parts) {
  arguments values(parts.begin() + From, parts.end());
  binder.unite(node, "\"" + node.name + "\"", values, literal_use::computed);
  std::move(values.begin(), values.end(), parts.begin() + From);
  return binder.call(node, Function, std::move(parts), nullptr, node.name);
}

constexpr const char* least_function = "min_element_wise";
constexpr const char* greatest_function = "max_element_wise";
constexpr const char* case_function = "case_when";
constexpr const char* coalesce_function = "coalesce";
constexpr const char* if_else_function = "if_else";

/// Arrow's function on numbers that are int64, uint64 or float64.
template <const char* const& Function>
typed_expression of_numbers(expression_binder& binder,
                            const expression_node& node, arguments parts) {
  for (const typed_expression& one : parts)
    if (!is_number(*one.type) && family_of(*one.type) != type_family::null &&
        one.type->id() != arrow::Type::DURATION)
      binder.refuse(node, "\"" + node.name + "\" needs numbers, found " +
                              describe(one));
  const arguments before = parts;
  for (typed_expression& one : parts)
    if (one.type->id() != arrow::Type::DURATION)
      one = binder.as(one, arithmetic_type(before, one));
  return binder.call(node, Function, std::move(parts), nullptr, node.name);
}

constexpr const char* abs_function = "abs_checked";
constexpr const char* power_function = "power_checked";

template <const char* const& Symbol>
typed_expression calculated(expression_binder& binder,
                            const expression_node& node, arguments parts) {
  return binder.calculate(node, Symbol, std::move(parts[0]),
                          std::move(parts[1]));
}

constexpr const char* plus = "+";
constexpr const char* minus = "-";
constexpr const char* times = "*";
constexpr const char* over = "/";
constexpr const char* modulo_symbol = "%";

template <const char* const& Symbol>
typed_expression compared(expression_binder& binder,
                          const expression_node& node, arguments parts) {
  return binder.compare(node, Symbol, std::move(parts[0]), std::move(parts[1]));
}

constexpr const char* is_equal = "=";
constexpr const char* is_not_equal = "!=";
constexpr const char* is_less = "<";
constexpr const char* is_less_equal = "<=";
constexpr const char* is_greater = ">";
constexpr const char* is_greater_equal = ">=";

typed_expression negated(expression_binder& binder, const expression_node& node,
                         arguments parts) {
  return binder.negate(node, std::move(parts[0]));
}

typed_expression whole_quotient(expression_binder& binder,
                                const expression_node& node, arguments parts) {
  for (const typed_expression& one : parts)
    if (family_of(*one.type) != type_family::integer &&
        family_of(*one.type) != type_family::null)
      binder.refuse(node, "\"div\" divides integers, found " + describe(one) +
                              "; write a / b");
  return binder.calculate(node, "div", std::move(parts[0]),
                          std::move(parts[1]));
}

typed_expression rounded(expression_binder& binder, const expression_node& node,
                         arguments parts) {
  constexpr int64_t digits_max = 18;
  int64_t digits = 0;
  if (parts.size() == 2) {
    const auto* given = std::get_if<int64_t>(&parts[1].node->value);
    if (!parts[1].is_literal() || given == nullptr || *given < -digits_max ||
        *given > digits_max)
      binder.refuse(*parts[1].node,
                    "\"round\" needs an integer from -18 to 18 as its second "
                    "argument, found " +
                        describe(parts[1]));
    digits = *given;
    parts.resize(1);
  }
  return binder.call(
      node, "round", std::move(parts),
      std::make_shared<arrow::compute::RoundOptions>(
          digits, arrow::compute::RoundMode::HALF_TOWARDS_INFINITY),
      "round");
}

/// As CASE WHEN of SQL: where the condition is null, the second value.
typed_expression chosen(expression_binder& binder, const expression_node& node,
                        arguments parts) {
  typed_expression condition =
      binder.truth(*parts[0].node, "the condition of \"if\"", parts[0]);
  condition.expression =
      arrow::compute::call("coalesce", {std::move(condition.expression),
                                        arrow::compute::literal(false)});
  std::vector<typed_expression> values(parts.begin() + 1, parts.end());
  binder.unite(node, "\"if\"", values, literal_use::computed);
  return binder.call(node, "if_else",
                     {std::move(condition), values[0], values[1]}, nullptr,
                     "if");
}

typed_expression concatenated(expression_binder& binder,
                              const expression_node& node, arguments parts) {
  for (const typed_expression& one : parts)
    if (family_of(*one.type) != type_family::null)
      need_text(binder, node, one);
  binder.unite(node, "\"concat\"", parts, literal_use::computed);
  typed_expression nothing = parts[0];
  nothing.expression = arrow::compute::literal(std::string());
  nothing.type = arrow::utf8();
  parts.push_back(convert(nothing, parts[0].type).ValueOr(nothing));
  return binder.call(node, "binary_join_element_wise", std::move(parts),
                     nullptr, "concat");
}

const std::map<std::string, friendly_function>& friendly_functions() {
  static const std::map<std::string, friendly_function> all{
      {"lower", {1, 1, "lower(text)", of_text<lower_function>}},
      {"upper", {1, 1, "upper(text)", of_text<upper_function>}},
      {"length", {1, 1, "length(text)", of_text<length_function>}},
      {"trim", {1, 1, "trim(text)", of_text<trim_function>}},
      {"concat", {1, any_count, "concat(text, ...)", concatenated}},
      {"regex_match",
       {2, 2, "regex_match(text, 'pattern')", match<regex_function>}},
      {"starts_with",
       {2, 2, "starts_with(text, 'begin')", match<starts_function>}},
      {"ends_with", {2, 2, "ends_with(text, 'end')", match<ends_function>}},
      {"contains", {2, 2, "contains(text, 'part')", match<contains_function>}},
      {"abs", {1, 1, "abs(number)", of_numbers<abs_function>}},
      {"power", {2, 2, "power(base, exponent)", of_numbers<power_function>}},
      {"pow", {2, 2, "pow(base, exponent)", of_numbers<power_function>}},
      {"round", {1, 2, "round(number[, digits])", rounded}},
      {"div", {2, 2, "div(integer, integer)", whole_quotient}},
      {"mod", {2, 2, "mod(a, b)", calculated<modulo_symbol>}},
      {"least", {1, any_count, "least(a, ...)", united<least_function, 0>}},
      {"greatest",
       {1, any_count, "greatest(a, ...)", united<greatest_function, 0>}},
      {"coalesce",
       {1, any_count, "coalesce(a, ...)", united<coalesce_function, 0>}},
      {"if", {3, 3, "if(condition, a, b)", chosen}},
      // Names of the registry that would skip the rules of the operators.
      {"add", {2, 2, "add(a, b)", calculated<plus>}},
      {"subtract", {2, 2, "subtract(a, b)", calculated<minus>}},
      {"multiply", {2, 2, "multiply(a, b)", calculated<times>}},
      {"divide", {2, 2, "divide(a, b)", calculated<over>}},
      {"negate", {1, 1, "negate(a)", negated}},
      {"min_element_wise",
       {1, any_count, "min_element_wise(a, ...)", united<least_function, 0>}},
      {"max_element_wise",
       {1, any_count, "max_element_wise(a, ...)",
        united<greatest_function, 0>}},
      {"case_when",
       {2, any_count, "case_when(make_struct(condition, ...), a, ...)",
        united<case_function, 1>}},
      {"if_else",
       {3, 3, "if_else(condition, a, b)", united<if_else_function, 1>}},
      {"equal", {2, 2, "equal(a, b)", compared<is_equal>}},
      {"not_equal", {2, 2, "not_equal(a, b)", compared<is_not_equal>}},
      {"less", {2, 2, "less(a, b)", compared<is_less>}},
      {"less_equal", {2, 2, "less_equal(a, b)", compared<is_less_equal>}},
      {"greater", {2, 2, "greater(a, b)", compared<is_greater>}},
      {"greater_equal",
       {2, 2, "greater_equal(a, b)", compared<is_greater_equal>}},
  };
  return all;
}

void check_count(const expression_binder& binder, const expression_node& node,
                 size_t found, size_t least, size_t most,
                 const std::string& usage) {
  if (found >= least && found <= most)
    return;
  const std::string number =
      most == any_count ? "at least " + std::to_string(least)
      : least == most   ? std::to_string(least)
                        : std::to_string(least) + " or " + std::to_string(most);
  binder.refuse(node,
                "\"" + node.name + "\" takes " + number +
                    (number == "1" || number == "at least 1" ? " argument"
                                                             : " arguments") +
                    ", found " + std::to_string(found) + "; write " + usage);
}

using function_pointer = std::shared_ptr<arrow::compute::Function>;

bool is_scalar(const arrow::compute::Function& function) {
  return function.kind() == arrow::compute::Function::SCALAR;
}

[[noreturn]] void refuse_name(const expression_binder& binder,
                              const expression_node& node) {
  std::vector<std::string> names{"cast"};
  for (const auto& [name, function] : friendly_functions())
    names.push_back(name);
  const auto* registry = arrow::compute::GetFunctionRegistry();
  for (const std::string& name : registry->GetFunctionNames())
    if (const auto function = registry->GetFunction(name);
        function.ok() && is_scalar(**function) &&
        !(*function)->doc().options_required)
      names.push_back(name);
  const std::string near = nearest_word(node.name, names);
  binder.refuse(node,
                "there is no function \"" + printable(node.name, 64) + "\"" +
                    (near.empty() ? "; there are lower, upper, length, "
                                    "abs, round, coalesce, if, cast, year "
                                    "and the scalar functions of Apache "
                                    "Arrow"
                                  : "; did you mean \"" + near + "\"?"));
}

/// Why a function is left out; null if it is not.
const char* left_out(const std::string& name) {
  if (name == "binary_repeat")
    return "makes texts of any length; it is left out";
  // Arrow 26 reads beyond its values for some indices and types.
  if (name == "choose")
    return "is left out; write if(a, b, c)";
  return nullptr;
}

/// Why a function of the registry cannot be called by name.
void check_callable(const expression_binder& binder,
                    const expression_node& node,
                    const arrow::compute::Function& function) {
  if (!is_scalar(function))
    binder.refuse(node, "\"" + node.name +
                            "\" looks at many rows at a time; an expression "
                            "sees one row");
  if (!function.is_pure())
    binder.refuse(node, "\"" + node.name +
                            "\" has another result each time; a run must be "
                            "able to compute its rows again");
  if (const char* why = left_out(node.name))
    binder.refuse(node, "\"" + node.name + "\" " + why);
  if (function.doc().options_required)
    binder.refuse(node, "\"" + node.name + "\" needs options (" +
                            function.doc().options_class +
                            "), which an expression cannot write");
}

/// The form of a function that refuses what others would wrap around.
std::string checked(const std::string& name) {
  if (name == "shift_left" || name == "shift_right")
    return name + "_checked";
  return name;
}

} // namespace

void prepare_functions() {
  static std::once_flag once;
  std::call_once(once, [] {
    check_arrow(arrow::compute::Initialize(), errc::internal,
                "Arrow's compute functions");
  });
}

typed_expression bind_call(expression_binder& binder,
                           const expression_node& node, arguments parts) {
  const auto friendly = friendly_functions().find(node.name);
  if (friendly != friendly_functions().end()) {
    const friendly_function& one = friendly->second;
    check_count(binder, node, parts.size(), one.least, one.most, one.usage);
    return one.make(binder, node, std::move(parts));
  }
  const auto found =
      arrow::compute::GetFunctionRegistry()->GetFunction(checked(node.name));
  if (!found.ok())
    refuse_name(binder, node);
  const arrow::compute::Function& function = **found;
  check_callable(binder, node, function);
  const auto count = size_t(function.arity().num_args);
  std::string usage = node.name + "(";
  for (const std::string& name : function.doc().arg_names)
    usage += (usage.back() == '(' ? "" : ", ") + name;
  check_count(binder, node, parts.size(), count,
              function.arity().is_varargs ? any_count : count, usage + ")");
  return binder.call(node, function.name(), std::move(parts), nullptr,
                     node.name);
}

} // namespace ballast::data
