/// The text of an expression, cut into tokens, and errors that point into it.
/// Pure; one owner. Errors are ballast_error{invalid_job}: the column (of
/// characters, from 1; with the line where there are several), what is wrong,
/// and below it the text with a caret.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ballast::data {

struct expression_source {
  std::string text;
  std::string pointer; // of the job's field
};

/// "column 3", or "line 2, column 3" of a text with several lines.
std::string place_in(const expression_source& source, size_t at);
/// "column 3: WHAT", the line of the text, and a caret below byte `at`.
std::string explain_at(const expression_source& source, size_t at,
                       const std::string& what);
[[noreturn]] void refuse_at(const expression_source& source, size_t at,
                            const std::string& what);

enum class token_kind : uint8_t {
  end,
  name,        // bare: a column, a function or a keyword
  quoted_name, // in double quotes: a column
  text,        // in single quotes
  integer,
  decimal,
  symbol,
};

struct expression_token {
  token_kind kind = token_kind::end;
  size_t at = 0;    // first byte
  std::string text; // without quotes; of a symbol its one spelling
};

/// "the name "x"", "the number 5", "")"", "the end".
std::string describe(const expression_token& token);

class expression_tokens {
public:
  /// Refuses a text that is too long, empty, or no UTF-8.
  explicit expression_tokens(const expression_source& source);
  /// The next one; at the end of the text again and again the end.
  expression_token next();

private:
  expression_token quoted(char quote, token_kind kind);
  expression_token number();
  expression_token name();
  expression_token symbol();
  void skip_space();

  const expression_source& source_;
  std::string_view text_;
  size_t at_ = 0;
};

/// ASCII only; what follows in Unicode stays as it is.
std::string lower_case(std::string_view text);
/// True if the text needs no quotes as the name of a column, except that it
/// may be a keyword.
bool is_bare_name(std::string_view text);

} // namespace ballast::data
