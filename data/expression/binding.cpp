#include "data/expression/binding.hpp"

#include "data/base/arrow_support.hpp"
#include "data/source/column_choice.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/nearest_word.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/compute/cast.h>

#include <algorithm>
#include <set>
#include <utility>

namespace ballast::data {

namespace {

using arrow::compute::Expression;

/// How to make texts and numbers comparable, for an error.
std::string cast_hint(const typed_expression& a, const typed_expression& b) {
  const type_family left = family_of(*a.type);
  const type_family right = family_of(*b.type);
  const auto cast_of = [](const typed_expression& part, const char* type) {
    return "cast(" + print_briefly(*part.node) + " as " + type + ")";
  };
  if (left == type_family::text && is_number(*b.type)) {
    const char* type = right == type_family::integer ? "int64" : "float64";
    if (b.is_literal())
      return "write '" + print_literal(b.node->value) +
             "' to compare texts, or " + cast_of(a, type);
    return "write " + cast_of(a, type);
  }
  if (left == type_family::text && right == type_family::date)
    return a.is_literal() ? "write date " + print_literal(a.node->value)
                          : "write " + cast_of(a, "date");
  if (left == type_family::text && right == type_family::timestamp)
    return a.is_literal() ? "write timestamp " + print_literal(a.node->value)
                          : "write " + cast_of(a, "timestamp");
  if (left == type_family::text && right == type_family::boolean)
    return "write " + cast_of(a, "bool");
  if (left == type_family::boolean && is_number(*b.type))
    return "write " + print_briefly(*a.node) + " or not " +
           print_briefly(*a.node) + ", or " + cast_of(a, "int64");
  if (left == type_family::timestamp && right == type_family::timestamp)
    return std::string("one has a time zone, the other has none") +
           (a.is_literal() || b.is_literal()
                ? "; write the timestamp without a zone"
                : "");
  return {};
}

std::string cast_hints(const std::vector<typed_expression>& parts) {
  for (const typed_expression& a : parts)
    for (const typed_expression& b : parts)
      if (const std::string hint = cast_hint(a, b);
          !hint.empty() &&
          common_type(std::vector{a, b}, literal_use::compared) == nullptr)
        return "; " + hint;
  return {};
}

/// What to do about a function that does not take what it was given.
std::string form_hint(const std::string& function) {
  static const std::set<std::string> of_times{
      "day",        "day_of_week", "day_of_year", "hour",        "iso_week",
      "iso_year",   "microsecond", "millisecond", "minute",      "month",
      "nanosecond", "quarter",     "second",      "subsecond",   "us_week",
      "us_year",    "week",        "year",        "is_leap_year"};
  if (of_times.contains(function))
    return "it takes a timestamp: cast(... as timestamp)";
  return "cast(... as int64, float64, text, date, timestamp or bool) changes a "
         "type";
}

/// True for the casts that Arrow may insert: between numbers, of a null, and of
/// a time to another unit.
bool keeps_meaning(const arrow::DataType& from, const arrow::DataType& to) {
  return from.Equals(to) || family_of(from) == type_family::null ||
         (is_number(from) && is_number(to)) ||
         (family_of(from) == type_family::date &&
          family_of(to) == type_family::timestamp) ||
         (from.id() != arrow::Type::STRUCT && family_of(from) == family_of(to));
}

/// A balanced tree, so that a thousand conditions are ten deep.
Expression join_all(const std::string& function,
                    const std::vector<Expression>& parts, size_t from,
                    size_t to) {
  if (to - from == 1)
    return parts[from];
  const size_t half = from + (to - from) / 2;
  return arrow::compute::call(function, {join_all(function, parts, from, half),
                                         join_all(function, parts, half, to)});
}

} // namespace

std::string describe(const typed_expression& part) {
  return print_briefly(*part.node) + " (" + name_of(*part.type) + ")";
}

typed_expression expression_binder::bind(const expression_node& node) {
  switch (node.kind) {
  case node_kind::literal: {
    const std::shared_ptr<arrow::Scalar> scalar = scalar_of(node.value);
    return {arrow::compute::literal(scalar), scalar->type, &node};
  }
  case node_kind::column:
    return column(node);
  case node_kind::negate:
    return negate(node, bind(*node.children[0]));
  case node_kind::invert:
    return invert(node, bind(*node.children[0]));
  case node_kind::arithmetic: {
    typed_expression left = bind(*node.children[0]);
    return calculate(node, node.name, std::move(left), bind(*node.children[1]));
  }
  case node_kind::comparison: {
    typed_expression left = bind(*node.children[0]);
    return compare(node, node.name, std::move(left), bind(*node.children[1]));
  }
  case node_kind::conjunction:
  case node_kind::disjunction:
    return join(node);
  case node_kind::is_null:
    return call(node, node.negated ? "is_valid" : "is_null",
                {bind(*node.children[0])});
  case node_kind::in_list:
    return in_list(node);
  case node_kind::between:
    return between(node);
  case node_kind::like:
    return like(node);
  case node_kind::cast:
    return cast(node);
  case node_kind::call:
    return bind_call(*this, node, children_of(node));
  }
  BALLAST_CHECK(false, "an expression of no kind");
}

std::vector<typed_expression>
expression_binder::children_of(const expression_node& node) {
  std::vector<typed_expression> out;
  for (const node_pointer& child : node.children)
    out.push_back(bind(*child));
  return out;
}

typed_expression expression_binder::column(const expression_node& node) const {
  const std::vector<int> found = schema_.GetAllFieldIndices(node.name);
  const std::string shown = "'" + printable(node.name, 64) + "'";
  if (found.size() > 1)
    refuse(node, "the data have two columns named " + shown + "; rename one");
  if (found.empty()) {
    const std::vector<std::string> names = schema_.field_names();
    const std::string lower = lower_case(node.name);
    std::string near = nearest_word(node.name, names);
    for (const std::string& name : names)
      if (lower_case(name) == lower)
        near = name;
    std::string what = "the data have no column " + shown;
    // "berlin" where 'berlin' was meant.
    if (near.empty() && source_.text[node.at] == '"')
      what += "; texts are in single quotes: " + print_literal(node.name);
    throw source_error(
        place_in(source_, node.at) + ": " + what, source_.pointer,
        (near.empty() ? "" : "nearest is '" + printable(near, 64) + "'; ") +
            "the columns are " + list_of(names));
  }
  const std::shared_ptr<arrow::DataType>& stored =
      schema_.field(found[0])->type();
  typed_expression out{arrow::compute::field_ref(arrow::FieldRef(node.name)),
                       stored, &node};
  return as(out, computed_type(stored));
}

typed_expression expression_binder::call(
    const expression_node& node, const std::string& function,
    std::vector<typed_expression> arguments,
    std::shared_ptr<arrow::compute::FunctionOptions> options,
    const std::string& written) const {
  // Arrow tells a call's type only once it is bound. Bound is one with columns
  // in place of its arguments, or each level would bind all below it again.
  arrow::FieldVector fields;
  std::vector<Expression> places;
  for (const typed_expression& one : arguments) {
    const int index = int(fields.size());
    fields.push_back(arrow::field(std::to_string(index), one.type));
    places.push_back(one.expression.literal() != nullptr
                         ? one.expression
                         : arrow::compute::field_ref(arrow::FieldRef(index)));
  }
  const auto bound = arrow::compute::call(function, std::move(places), options)
                         .Bind(arrow::Schema(std::move(fields)));
  const std::string name = written.empty() ? function : written;
  const auto refuse_form = [&](const std::string& hint) {
    std::string types;
    for (const typed_expression& one : arguments)
      types += (types.empty() ? "" : ", ") + describe(one);
    refuse(node, "\"" + name + "\" has no form for " + types + "; " + hint);
  };
  if (!bound.ok()) {
    if (bound.status().IsNotImplemented() || bound.status().IsTypeError())
      refuse_form(form_hint(name));
    refuse(node,
           "\"" + name + "\": " + printable(bound.status().message(), 200));
  }
  std::vector<Expression> real;
  for (typed_expression& one : arguments) {
    // Arrow inserts casts, too, but refuses integers that lose digits as a
    // float. Those of decimals depend on what they meet: theirs alone.
    if (const auto* made = bound->call(); made != nullptr) {
      const auto type = made->arguments[real.size()].type()->GetSharedPtr();
      if (!keeps_meaning(*one.type, *type))
        refuse_form("it takes " + describe(one) + " only as " + name_of(*type) +
                    ", by a cast");
      if (arrow::is_floating(type->id()))
        one = as(one, type);
    }
    real.push_back(one.expression);
  }
  return {arrow::compute::call(function, std::move(real), std::move(options)),
          bound->type()->GetSharedPtr(), &node};
}

typed_expression
expression_binder::as(const typed_expression& part,
                      const std::shared_ptr<arrow::DataType>& type) const {
  arrow::Result<typed_expression> out = convert(part, type);
  if (!out.ok())
    refuse(*part.node, describe(part) + " cannot become " + name_of(*type) +
                           ": " + printable(out.status().message(), 200));
  return std::move(out).ValueUnsafe();
}

void expression_binder::unite(const expression_node& node,
                              const std::string& what,
                              std::vector<typed_expression>& parts,
                              literal_use use) const {
  const auto type = common_type(parts, use);
  if (type == nullptr) {
    std::string all;
    for (size_t i = 0; i < parts.size(); ++i)
      all += (i == 0                  ? ""
              : i + 1 == parts.size() ? " and "
                                      : ", ") +
             describe(parts[i]);
    refuse(node, what + " needs values of one type, found " + all +
                     cast_hints(parts));
  }
  for (typed_expression& one : parts)
    one = as(one, type);
}

typed_expression expression_binder::truth(const expression_node& node,
                                          const std::string& what,
                                          const typed_expression& part) const {
  const type_family family = family_of(*part.type);
  if (family == type_family::null)
    return as(part, arrow::boolean());
  if (family != type_family::boolean)
    refuse(node, what + " needs a bool, found " + describe(part) +
                     (is_number(*part.type)
                          ? "; write " + print_briefly(*part.node) + " != 0"
                          : ""));
  return part;
}

typed_expression expression_binder::invert(const expression_node& node,
                                           typed_expression operand) const {
  return call(node, "invert", {truth(node, "\"not\"", operand)});
}

typed_expression expression_binder::join(const expression_node& node) {
  const bool all = node.kind == node_kind::conjunction;
  std::vector<Expression> parts;
  for (const node_pointer& child : node.children) {
    const typed_expression part = bind(*child);
    parts.push_back(truth(*child, all ? "\"and\"" : "\"or\"", part).expression);
  }
  return {join_all(all ? "and_kleene" : "or_kleene", parts, 0, parts.size()),
          arrow::boolean(), &node};
}

void expression_binder::refuse_null_literal(
    const expression_node& node, const typed_expression& left,
    const typed_expression& right) const {
  for (const typed_expression* one : {&left, &right})
    if (one->is_literal() &&
        std::holds_alternative<literal_null>(one->node->value)) {
      const typed_expression& other = one == &left ? right : left;
      refuse(node, "a comparison with null is never true; write " +
                       print_briefly(*other.node) + " is null");
    }
}

typed_expression expression_binder::compare(const expression_node& node,
                                            const std::string& symbol,
                                            typed_expression left,
                                            typed_expression right) const {
  refuse_null_literal(node, left, right);
  static const std::pair<const char*, const char*> functions[] = {
      {"=", "equal"},       {"!=", "not_equal"}, {"<", "less"},
      {"<=", "less_equal"}, {">", "greater"},    {">=", "greater_equal"}};
  const auto* function =
      std::find_if(std::begin(functions), std::end(functions),
                   [&](const auto& one) { return one.first == symbol; });
  BALLAST_CHECK(function != std::end(functions), "no comparison: " + symbol);
  std::vector<typed_expression> sides{std::move(left), std::move(right)};
  unite(node, "\"" + symbol + "\"", sides, literal_use::compared);
  if (family_of(*sides[0].type) == type_family::boolean && symbol != "=" &&
      symbol != "!=")
    refuse(node, "\"" + symbol + "\" has no meaning for " + describe(sides[0]) +
                     " and " + describe(sides[1]) +
                     "; only = and != compare bools");
  return call(node, function->second, std::move(sides), nullptr, symbol);
}

typed_expression expression_binder::in_list(const expression_node& node) {
  std::vector<typed_expression> parts = children_of(node);
  // Pairs first, for an error that points at the value.
  for (size_t i = 1; i < parts.size(); ++i)
    if (const std::vector<typed_expression> pair{parts[0], parts[i]};
        common_type(pair, literal_use::compared) == nullptr)
      refuse(*parts[i].node, "\"in\" needs values of one type, found " +
                                 describe(parts[0]) + " and " +
                                 describe(parts[i]) + cast_hints(pair));
  unite(node, "\"in\"", parts, literal_use::compared);
  arrow::ScalarVector values;
  for (size_t i = 1; i < parts.size(); ++i)
    values.push_back(parts[i].expression.literal()->scalar());
  std::unique_ptr<arrow::ArrayBuilder> builder = take_arrow(
      arrow::MakeBuilder(parts[0].type), errc::internal, "values of in");
  check_arrow(builder->AppendScalars(values), errc::internal, "values of in");
  const std::shared_ptr<arrow::Array> set =
      take_arrow(builder->Finish(), errc::internal, "values of in");
  // As in SQL: whether null is in a list is unknown.
  const typed_expression found =
      call(node, "is_in", {parts[0]},
           std::make_shared<arrow::compute::SetLookupOptions>(
               set, arrow::compute::SetLookupOptions::EMIT_NULL),
           "in");
  return node.negated ? invert(node, found) : found;
}

typed_expression expression_binder::between(const expression_node& node) {
  std::vector<typed_expression> parts = children_of(node);
  typed_expression low = compare(node, ">=", parts[0], parts[1]);
  typed_expression high =
      compare(node, "<=", std::move(parts[0]), std::move(parts[2]));
  const typed_expression both =
      call(node, "and_kleene", {std::move(low), std::move(high)});
  return node.negated ? invert(node, both) : both;
}

typed_expression expression_binder::like(const expression_node& node) {
  const typed_expression operand = bind(*node.children[0]);
  const auto& pattern = std::get<std::string>(node.children[1]->value);
  if (family_of(*operand.type) != type_family::text)
    refuse(node, "\"like\" needs a text, found " + describe(operand) +
                     "; write cast(" + print_briefly(*operand.node) +
                     " as text)");
  const typed_expression found = call(
      node, "match_like", {operand},
      std::make_shared<arrow::compute::MatchSubstringOptions>(pattern), "like");
  return node.negated ? invert(node, found) : found;
}

typed_expression expression_binder::cast(const expression_node& node) {
  typed_expression operand = bind(*node.children[0]);
  const type_family from = family_of(*operand.type);
  const bool to_time = node.name == "date" || node.name == "timestamp";
  const bool from_time =
      from == type_family::date || from == type_family::timestamp;
  if ((to_time && is_number(*operand.type)) ||
      (from_time && (node.name == "int64" || node.name == "float64")))
    refuse(node, "no cast of " + describe(operand) + " to " + node.name +
                     ", because a number may count days, seconds or less; "
                     "year(), month(), days_between() and seconds_between() "
                     "make numbers of times");
  std::shared_ptr<arrow::DataType> type = arrow::boolean();
  if (node.name == "int64")
    type = arrow::int64();
  else if (node.name == "float64")
    type = arrow::float64();
  else if (node.name == "text")
    type = from == type_family::text ? operand.type : arrow::utf8();
  else if (node.name == "date")
    type = arrow::date32();
  else if (node.name == "timestamp")
    type = from == type_family::timestamp
               ? operand.type
               : arrow::timestamp(arrow::TimeUnit::MICRO);
  typed_expression out = as(operand, type);
  out.node = &node; // a cast number is no literal any more
  return out;
}

} // namespace ballast::data
