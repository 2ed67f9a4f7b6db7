#include "data/expression/parser.hpp"

#include "data/expression/expression.hpp"
#include "data/expression/literal.hpp"
#include "runtime/job/field_document.hpp"

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

/// Computing more than this for one row is a mistake of nested `between`s.
constexpr uint64_t cost_max = 100'000;

using node_list = std::vector<node_pointer>;

bool is_comparison(const std::string& symbol) {
  return symbol == "=" || symbol == "!=" || symbol == "<" || symbol == "<=" ||
         symbol == ">" || symbol == ">=";
}

node_pointer make_literal(size_t at, literal_value value) {
  expression_node out;
  out.value = std::move(value);
  out.at = at;
  return std::make_shared<const expression_node>(std::move(out));
}

bool is_word(const expression_token& token, const char* word) {
  return token.kind == token_kind::name && lower_case(token.text) == word;
}

class tree_parser {
public:
  explicit tree_parser(const expression_source& source)
      : source_(source), tokens_(source) {
    now_ = tokens_.next();
    ahead_ = tokens_.next();
  }

  node_pointer parse() {
    node_pointer root = alternatives();
    if (now_.kind != token_kind::end)
      refuse_rest();
    return root;
  }

private:
  /// Counts the recursion of the parser itself.
  class deeper {
  public:
    explicit deeper(tree_parser& parser) : parser_(parser) {
      if (parser.depth_++ > expression_depth_max) // the whole is no depth
        parser.refuse("nested more than " +
                      std::to_string(expression_depth_max) +
                      " deep; derive a part as a column of its own");
    }
    ~deeper() { --parser_.depth_; }
    deeper(const deeper&) = delete;
    deeper& operator=(const deeper&) = delete;

  private:
    tree_parser& parser_;
  };

  [[noreturn]] void refuse(const std::string& what) const {
    refuse_at(source_, now_.at, what);
  }
  [[noreturn]] void expected(const std::string& what) const {
    refuse("expected " + what + ", found " + describe(now_));
  }
  [[noreturn]] void refuse_rest() const;

  expression_token take() {
    expression_token out = std::move(now_);
    now_ = std::move(ahead_);
    if (now_.kind != token_kind::end)
      ahead_ = tokens_.next();
    return out;
  }
  bool is_symbol(const char* symbol) const {
    return now_.kind == token_kind::symbol && now_.text == symbol;
  }
  bool take_symbol(const char* symbol) {
    if (!is_symbol(symbol))
      return false;
    take();
    return true;
  }
  bool take_word(const char* word) {
    if (!is_word(now_, word))
      return false;
    take();
    return true;
  }
  void close(size_t opened) {
    if (!take_symbol(")"))
      expected("\")\" for the \"(\" at " + place_in(source_, opened));
  }

  node_pointer make(node_kind kind, size_t at, std::string name,
                    node_list children, bool negated = false);

  node_pointer alternatives();
  node_pointer conditions();
  node_pointer negation();
  node_pointer predicate();
  node_pointer tested(node_pointer operand);
  node_pointer in_list(node_pointer operand, size_t at, bool negated);
  node_pointer between(node_pointer operand, size_t at, bool negated);
  node_pointer like(node_pointer operand, size_t at, bool negated);
  node_pointer sum();
  node_pointer product();
  node_pointer sign();
  node_pointer value();
  node_pointer word();
  node_pointer call();
  node_pointer cast(size_t at, size_t opened);
  node_pointer list_item();

  const expression_source& source_;
  expression_tokens tokens_;
  expression_token now_, ahead_;
  size_t depth_ = 0;
};

void tree_parser::refuse_rest() const {
  if (is_symbol(")"))
    refuse("this \")\" closes nothing");
  if (is_symbol("("))
    expected("an operator or the end");
  if (now_.kind == token_kind::symbol && is_comparison(now_.text))
    refuse("comparisons make no chain; write a < b and b < c");
  expected("\"and\", \"or\", an operator or the end");
}

node_pointer tree_parser::make(node_kind kind, size_t at, std::string name,
                               node_list children, bool negated) {
  expression_node out;
  out.kind = kind;
  out.negated = negated;
  out.name = std::move(name);
  out.at = at;
  uint32_t height = 0;
  for (const node_pointer& child : children) {
    height = std::max(height, child->height);
    out.cost += child->cost;
  }
  if (kind == node_kind::between)
    out.cost += children[0]->cost;
  out.height = height + 1;
  if (out.height > expression_height_max)
    refuse_at(source_, at,
              "more than " + std::to_string(expression_height_max) +
                  " operators in a chain; put groups of them in parentheses");
  if (out.cost > cost_max)
    refuse_at(source_, at,
              "\"between\" computes its operand twice, and so many of them are "
              "nested that a row takes more than " +
                  std::to_string(cost_max) +
                  " steps; derive a part as a column of its own");
  out.children = std::move(children);
  return std::make_shared<const expression_node>(std::move(out));
}

node_pointer tree_parser::alternatives() {
  const deeper here(*this);
  const size_t at = now_.at;
  node_list parts{conditions()};
  while (take_word("or"))
    parts.push_back(conditions());
  return parts.size() == 1
             ? parts[0]
             : make(node_kind::disjunction, at, {}, std::move(parts));
}

node_pointer tree_parser::conditions() {
  const size_t at = now_.at;
  node_list parts{negation()};
  while (take_word("and"))
    parts.push_back(negation());
  return parts.size() == 1
             ? parts[0]
             : make(node_kind::conjunction, at, {}, std::move(parts));
}

node_pointer tree_parser::negation() {
  const size_t at = now_.at;
  if (!take_word("not"))
    return predicate();
  const deeper here(*this);
  return make(node_kind::invert, at, {}, {negation()});
}

node_pointer tree_parser::predicate() {
  node_pointer left = sum();
  if (now_.kind == token_kind::symbol && is_comparison(now_.text)) {
    const expression_token symbol = take();
    node_pointer right = sum();
    return make(node_kind::comparison, symbol.at, symbol.text,
                {std::move(left), std::move(right)});
  }
  return tested(std::move(left));
}

/// What may follow an operand: is, in, between, like.
node_pointer tree_parser::tested(node_pointer operand) {
  const size_t at = now_.at;
  if (take_word("is")) {
    const bool negated = take_word("not");
    if (!take_word("null"))
      expected(negated ? "\"null\" after \"is not\""
                       : "\"null\" or \"not null\" after \"is\"");
    return make(node_kind::is_null, at, {}, {std::move(operand)}, negated);
  }
  const bool negated = take_word("not");
  if (take_word("in"))
    return in_list(std::move(operand), at, negated);
  if (take_word("between"))
    return between(std::move(operand), at, negated);
  if (take_word("like"))
    return like(std::move(operand), at, negated);
  if (negated)
    expected("\"in\", \"between\" or \"like\" after \"not\"");
  return operand;
}

node_pointer tree_parser::in_list(node_pointer operand, size_t at,
                                  bool negated) {
  const size_t opened = now_.at;
  if (!take_symbol("("))
    expected("\"(\" and a list of values after \"in\"");
  node_list children{std::move(operand)};
  do {
    if (children.size() > expression_list_max)
      refuse("more than " + std::to_string(expression_list_max) +
             " values in one list");
    children.push_back(list_item());
  } while (take_symbol(","));
  close(opened);
  return make(node_kind::in_list, at, {}, std::move(children), negated);
}

node_pointer tree_parser::list_item() {
  const bool minus = is_symbol("-");
  const token_kind kind = minus ? ahead_.kind : now_.kind;
  const bool known = kind == token_kind::integer ||
                     kind == token_kind::decimal ||
                     (!minus && kind == token_kind::text);
  const bool moment = ahead_.kind == token_kind::text &&
                      (is_word(now_, "date") || is_word(now_, "timestamp"));
  const bool truth = is_word(now_, "true") || is_word(now_, "false");
  if (is_word(now_, "null"))
    refuse("a list with null would never be false for a value that is not in "
           "it; write \"is null\" beside \"in\"");
  if (!known && !moment && !truth)
    expected("a number, a text in single quotes, a date, a timestamp, true or "
             "false; a list of \"in\" holds no columns");
  return sign();
}

node_pointer tree_parser::between(node_pointer operand, size_t at,
                                  bool negated) {
  node_pointer low = sum();
  if (!take_word("and"))
    expected("\"and\" and the upper limit of \"between\"");
  node_pointer high = sum();
  return make(node_kind::between, at, {},
              {std::move(operand), std::move(low), std::move(high)}, negated);
}

node_pointer tree_parser::like(node_pointer operand, size_t at, bool negated) {
  if (now_.kind != token_kind::text)
    expected("a pattern in single quotes after \"like\", such as 'a%'");
  const expression_token pattern = take();
  return make(node_kind::like, at, {},
              {std::move(operand), make_literal(pattern.at, pattern.text)},
              negated);
}

node_pointer tree_parser::sum() {
  node_pointer left = product();
  while (is_symbol("+") || is_symbol("-")) {
    const expression_token symbol = take();
    node_pointer right = product();
    left = make(node_kind::arithmetic, symbol.at, symbol.text,
                {std::move(left), std::move(right)});
  }
  return left;
}

node_pointer tree_parser::product() {
  node_pointer left = sign();
  while (is_symbol("*") || is_symbol("/") || is_symbol("%")) {
    const expression_token symbol = take();
    node_pointer right = sign();
    left = make(node_kind::arithmetic, symbol.at, symbol.text,
                {std::move(left), std::move(right)});
  }
  return left;
}

node_pointer tree_parser::sign() {
  const size_t at = now_.at;
  if (!take_symbol("-"))
    return value();
  if (now_.kind == token_kind::integer || now_.kind == token_kind::decimal) {
    const expression_token token = take();
    return make_literal(token.at, read_number(source_, token, true));
  }
  const deeper here(*this);
  return make(node_kind::negate, at, {}, {sign()});
}

node_pointer tree_parser::value() {
  const size_t at = now_.at;
  switch (now_.kind) {
  case token_kind::integer:
  case token_kind::decimal:
    return make_literal(at, read_number(source_, take(), false));
  case token_kind::text:
    return make_literal(at, take().text);
  case token_kind::quoted_name:
    if (ahead_.kind == token_kind::symbol && ahead_.text == "(")
      refuse("the name of a function has no quotes");
    return make(node_kind::column, at, take().text, {});
  case token_kind::name:
    return word();
  default:
    break;
  }
  if (!take_symbol("("))
    expected("a column, a value or \"(\"");
  node_pointer inner = alternatives();
  close(at);
  return inner;
}

node_pointer tree_parser::word() {
  const size_t at = now_.at;
  if (take_word("null"))
    return make_literal(at, literal_null{});
  if (take_word("true"))
    return make_literal(at, true);
  if (take_word("false"))
    return make_literal(at, false);
  if (is_keyword(lower_case(now_.text)))
    refuse("expected a column, a value or \"(\", found the keyword " +
           describe(now_) +
           "; a column of this name is written in double quotes");
  if (ahead_.kind == token_kind::text &&
      (is_word(now_, "date") || is_word(now_, "timestamp"))) {
    const bool with_time = is_word(take(), "timestamp");
    const expression_token text = take();
    return make_literal(text.at, read_moment(source_, text, with_time));
  }
  if (ahead_.kind == token_kind::symbol && ahead_.text == "(")
    return call();
  return make(node_kind::column, at, take().text, {});
}

node_pointer tree_parser::call() {
  const expression_token name = take();
  const size_t opened = take().at;
  const std::string lower = lower_case(name.text);
  if (lower == "cast")
    return cast(name.at, opened);
  node_list arguments;
  if (!is_symbol(")"))
    do
      arguments.push_back(alternatives());
    while (take_symbol(","));
  close(opened);
  return make(node_kind::call, name.at, lower, std::move(arguments));
}

node_pointer tree_parser::cast(size_t at, size_t opened) {
  node_pointer operand = alternatives();
  if (!take_word("as"))
    expected("\"as\" and a type, as in cast(a as int64)");
  const std::string lower = lower_case(now_.text);
  const std::string type =
      now_.kind == token_kind::name ? cast_type(lower) : std::string();
  if (type.empty())
    refuse("expected one of the types int64, float64, text, date, timestamp, "
           "bool, found " +
           describe(now_) +
           did_you_mean(lower, {"int64", "float64", "text", "date", "timestamp",
                                "bool"}));
  take();
  close(opened);
  return make(node_kind::cast, at, type, {std::move(operand)});
}

} // namespace

node_pointer parse_tree(const expression_source& source) {
  return tree_parser(source).parse();
}

} // namespace ballast::data
