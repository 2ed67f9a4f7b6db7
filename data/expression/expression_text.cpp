#include "data/expression/expression_text.hpp"

#include "data/expression/expression.hpp"
#include "runtime/base/errors.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <array>

namespace ballast::data {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Some marks of Unicode come from word processors and never belong to a name.
bool is_foreign_mark(std::string_view rest) {
  return rest.starts_with("\xE2\x80") || rest.starts_with("\xE2\x81") ||
         rest.starts_with("\xC2\xA0");
}

bool begins_name(std::string_view rest) {
  if (rest.empty())
    return false;
  const char c = rest[0];
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         ((c & 0x80) != 0 && !is_foreign_mark(rest));
}

bool continues_name(std::string_view rest) {
  return begins_name(rest) ||
         (!rest.empty() && (is_digit(rest[0]) || rest[0] == '.'));
}

/// The number of bytes of a name at the begin of the text.
size_t name_length(std::string_view rest) {
  if (!begins_name(rest))
    return 0;
  size_t length = 1;
  while (continues_name(rest.substr(length)))
    ++length;
  return length;
}

std::string unknown_character(std::string_view rest) {
  for (std::string_view mark : {"\xE2\x80\x98", "\xE2\x80\x99"})
    if (rest.starts_with(mark))
      return "a typographic quote; texts are in plain single quotes: 'text'";
  for (std::string_view mark : {"\xE2\x80\x9C", "\xE2\x80\x9D"})
    if (rest.starts_with(mark))
      return "a typographic quote; columns with special characters are in "
             "plain double quotes: \"a column\"";
  if (rest.starts_with("&&"))
    return "unknown operator \"&&\"; write \"and\"";
  if (rest.starts_with("|"))
    return "unknown operator \"|\"; write \"or\", and concat(a, b) to join "
           "texts";
  if (rest.starts_with("!"))
    return "unknown operator \"!\"; write \"not\"";
  size_t length = 1;
  while (length < rest.size() && (rest[length] & 0xC0) == 0x80)
    ++length; // the rest of a character
  return "unexpected character \"" + printable(rest.substr(0, length)) + "\"";
}

} // namespace

std::string place_in(const expression_source& source, size_t at) {
  const std::string_view text = source.text;
  const std::string_view before = text.substr(0, at);
  const size_t start = before.rfind('\n') + 1; // npos + 1 is 0
  std::string column =
      "column " + std::to_string(count_characters(before.substr(start)) + 1);
  if (text.find('\n') == std::string_view::npos)
    return column;
  const auto lines = std::count(before.begin(), before.end(), '\n');
  return "line " + std::to_string(lines + 1) + ", " + column;
}

std::string explain_at(const expression_source& source, size_t at,
                       const std::string& what) {
  constexpr size_t bytes_before = 48;
  constexpr size_t characters_after = 32;
  const std::string_view text = source.text;
  std::string out = place_in(source, at) + ": " + what;
  const size_t start = text.substr(0, at).rfind('\n') + 1;
  size_t from = start + bytes_before < at ? at - bytes_before : start;
  while (from > start && from < at && (text[from] & 0xC0) == 0x80)
    ++from; // not into the middle of a character
  const std::string left =
      (from > start ? "..." : "") + printable(text.substr(from, at - from));
  const size_t end = std::min(text.find('\n', at), text.size());
  out += "\n  " + left +
         printable(text.substr(at, end - at), characters_after) + "\n  " +
         std::string(count_characters(left), ' ') + "^";
  return out;
}

void refuse_at(const expression_source& source, size_t at,
               const std::string& what) {
  throw ballast_error(errc::invalid_job, explain_at(source, at, what),
                      source.pointer);
}

std::string describe(const expression_token& token) {
  constexpr size_t shown_max = 32;
  const std::string shown = printable(token.text, shown_max);
  switch (token.kind) {
  case token_kind::end:
    return "the end";
  case token_kind::name:
    return "\"" + shown + "\"";
  case token_kind::quoted_name:
    return "the column \"" + shown + "\"";
  case token_kind::text:
    return "the text '" + shown + "'";
  case token_kind::integer:
  case token_kind::decimal:
    return "the number " + shown;
  case token_kind::symbol:
    return "\"" + shown + "\"";
  }
  return {};
}

expression_tokens::expression_tokens(const expression_source& source)
    : source_(source), text_(source.text) {
  if (text_.size() > expression_bytes_max)
    throw ballast_error(errc::invalid_job,
                        "the expression has " + std::to_string(text_.size()) +
                            " bytes; at most " +
                            std::to_string(expression_bytes_max) +
                            " are allowed",
                        source.pointer);
  if (!is_utf8(text_))
    throw ballast_error(errc::invalid_job, "the expression is not UTF-8",
                        source.pointer);
  skip_space();
  if (at_ == text_.size())
    throw ballast_error(errc::invalid_job,
                        "the expression is empty; expected for example "
                        "amount > 0",
                        source.pointer);
}

void expression_tokens::skip_space() {
  at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size());
}

expression_token expression_tokens::next() {
  skip_space();
  if (at_ == text_.size())
    return {token_kind::end, at_, {}};
  const std::string_view rest = text_.substr(at_);
  if (rest[0] == '\'')
    return quoted('\'', token_kind::text);
  if (rest[0] == '"')
    return quoted('"', token_kind::quoted_name);
  if (is_digit(rest[0]) ||
      (rest[0] == '.' && rest.size() > 1 && is_digit(rest[1])))
    return number();
  if (begins_name(rest))
    return name();
  return symbol();
}

expression_token expression_tokens::quoted(char quote, token_kind kind) {
  expression_token out{kind, at_, {}};
  for (size_t from = at_ + 1;;) {
    const size_t end = text_.find(quote, from);
    if (end == std::string_view::npos)
      refuse_at(source_, out.at,
                kind == token_kind::text
                    ? "this quote is never closed; a quote within a text is "
                      "written twice: 'it''s'"
                    : "this quote is never closed; a quote within a name is "
                      "written twice: \"a \"\"b\"\"\"");
    out.text += text_.substr(from, end - from);
    at_ = end + 1;
    if (at_ == text_.size() || text_[at_] != quote)
      break;
    out.text += quote;
    from = at_ + 1;
  }
  if (kind == token_kind::quoted_name && out.text.empty())
    refuse_at(source_, out.at,
              "a column without a name; texts are in single quotes: ''");
  return out;
}

expression_token expression_tokens::number() {
  expression_token out{token_kind::integer, at_, {}};
  const auto digits = [&] {
    const size_t from = at_;
    while (at_ < text_.size() && is_digit(text_[at_]))
      ++at_;
    return at_ > from;
  };
  digits();
  if (at_ < text_.size() && text_[at_] == '.') {
    out.kind = token_kind::decimal;
    ++at_;
    digits();
  }
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    const size_t before = at_++;
    if (at_ < text_.size() && (text_[at_] == '+' || text_[at_] == '-'))
      ++at_;
    if (digits())
      out.kind = token_kind::decimal;
    else
      at_ = before; // refused below: a name follows
  }
  if (continues_name(text_.substr(at_)))
    refuse_at(source_, out.at,
              "a number that runs into a name; a column whose name begins with "
              "a digit is in double quotes: \"2nd\"");
  out.text = text_.substr(out.at, at_ - out.at);
  return out;
}

expression_token expression_tokens::name() {
  const size_t length = name_length(text_.substr(at_));
  expression_token out{token_kind::name, at_,
                       std::string(text_.substr(at_, length))};
  at_ += length;
  return out;
}

expression_token expression_tokens::symbol() {
  // Longer ones first; the second spelling is what the parser sees.
  struct spelling {
    std::string_view written, meant;
  };
  constexpr std::array<spelling, 17> symbols{{{"==", "="},
                                              {"!=", "!="},
                                              {"<>", "!="},
                                              {"<=", "<="},
                                              {">=", ">="},
                                              {"=", "="},
                                              {"<", "<"},
                                              {">", ">"},
                                              {"+", "+"},
                                              {"-", "-"},
                                              {"*", "*"},
                                              {"/", "/"},
                                              {"%", "%"},
                                              {"(", "("},
                                              {")", ")"},
                                              {",", ","},
                                              {";", ";"}}};
  const std::string_view rest = text_.substr(at_);
  for (const spelling& one : symbols)
    if (rest.starts_with(one.written)) {
      expression_token out{token_kind::symbol, at_, std::string(one.meant)};
      at_ += one.written.size();
      return out;
    }
  refuse_at(source_, at_, unknown_character(rest));
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z')
      c = char(c - 'A' + 'a');
  return out;
}

bool is_bare_name(std::string_view text) {
  return !text.empty() && name_length(text) == text.size();
}

} // namespace ballast::data
