#include "runtime/job/job_text.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace ballast {

namespace {

using nlohmann::json;

constexpr size_t text_shown_max = 60;

/// Finds the first error in a JSON text and its position.
class text_checker : public nlohmann::json_sax<json> {
public:
  std::string problem;
  size_t position = 0; // bytes read when the error was found
  bool at_end = false;

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override { return deeper(); }
  bool end_object() override { return shallower(); }
  bool start_array(std::size_t) override { return deeper(); }
  bool end_array() override { return shallower(); }

  bool key(string_t& name) override {
    if (keys_.back().insert(name).second)
      return true;
    problem = "the key '" + printable(name, text_shown_max) +
              "' is given twice in one object";
    return false;
  }

  bool parse_error(std::size_t read, const std::string& last_token,
                   const nlohmann::detail::exception& error) override {
    position = read;
    problem = error.what();
    if (problem.find("number overflow") != std::string::npos) {
      problem = "the number " + last_token + " is too large";
      return false;
    }
    // "[json.exception...] parse error at line 1, column 2: <the rest>"
    if (size_t colon = problem.find(": "); colon != std::string::npos)
      problem.erase(0, colon + 2);
    at_end = problem.find("unexpected end of input") != std::string::npos;
    return false;
  }

private:
  bool deeper() {
    keys_.emplace_back();
    if (keys_.size() <= json_depth_max)
      return true;
    problem = "nested deeper than " + std::to_string(json_depth_max);
    return false;
  }
  bool shallower() {
    keys_.pop_back();
    return true;
  }

  std::vector<std::set<std::string>> keys_;
};

std::string line_and_column(std::string_view text, size_t read) {
  std::string_view before = text.substr(0, std::min(read, text.size()));
  if (!before.empty())
    before.remove_suffix(1); // the offending byte is the last one read
  size_t line = 1 + size_t(std::count(before.begin(), before.end(), '\n'));
  size_t start = before.rfind('\n');
  size_t column = start == std::string_view::npos ? before.size() + 1
                                                  : before.size() - start;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

/// For those who write other languages, too; `read`: with the offending byte.
std::string advice_at(std::string_view text, size_t read) {
  if (read < 2 || read > text.size())
    return {};
  const char found = text[read - 1];
  const size_t last = text.find_last_not_of(" \t\r\n", read - 2);
  const char before = last == std::string_view::npos ? ' ' : text[last];
  if (found == '.' && (before == ':' || before == ',' || before == '['))
    return "; a number begins with a digit, as 0.5 does";
  if ((found == '}' || found == ']') && before == ',')
    return "; nothing follows the comma before it: remove that";
  if (found == '/' || found == '#')
    return "; JSON has no comments";
  return {};
}

} // namespace

failure read_json_text(std::string_view text, errc code, std::string_view what,
                       json& out) {
  std::string name(what);
  if (text.size() > json_text_bytes_max)
    return {code,
            name + ": " + std::to_string(text.size()) + " bytes; at most " +
                std::to_string(json_text_bytes_max) + " are allowed",
            ""};
  text_checker checker;
  if (json::sax_parse(text, &checker)) {
    out = json::parse(text);
    return {};
  }
  std::string where;
  if (checker.position > 0)
    where = checker.at_end && text.empty()
                ? " (the text is empty)"
                : " at " + line_and_column(text, checker.position);
  return {code,
          name + " is not valid JSON" + where + ": " + checker.problem +
              advice_at(text, checker.position),
          ""};
}

std::string quote_value(const json& value) {
  if (value.is_object())
    return "an object";
  if (value.is_array())
    return "a list of " + std::to_string(value.size());
  std::string text = json_text(value);
  return printable(text, text.size() > text_shown_max ? text_shown_max - 3
                                                      : any_length);
}

} // namespace ballast
