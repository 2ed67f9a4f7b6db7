#include "runtime/graph/check_rules.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/base/nearest_word.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/graph/data_graph.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace ballast::graph {

namespace {

using nlohmann::json;

constexpr size_t values_most = 10'000;

const std::vector<std::string>& rule_keys() {
  static const std::vector<std::string> all{"type",    "not_null", "min",
                                            "max",     "above",    "below",
                                            "matches", "in",       "then"};
  return all;
}

template <class Enum>
std::string words_text() {
  std::string out;
  for (const std::string_view word : words_of<Enum>)
    out += (out.empty() ? "\"" : ", \"") + std::string(word) + "\"";
  return out;
}

std::optional<check_value> value_in(const json& in) {
  if (in.is_boolean())
    return in.get<bool>();
  if (in.is_number_unsigned() && in.get<uint64_t>() > uint64_t(INT64_MAX))
    return in.get<uint64_t>();
  if (in.is_number_integer())
    return in.get<int64_t>();
  if (in.is_number())
    return in.get<double>();
  if (in.is_string())
    return in.get<std::string>();
  return std::nullopt;
}

/// Reads the rules of one column, until the first mistake.
class rule_reader {
public:
  rule_reader(const std::string& column, check_action usual) {
    out_.column = column;
    out_.then = usual;
  }

  void read(const json& in) {
    if (!in.is_object() || in.empty())
      return refuse("", "expected an object of rules such as {\"min\": 0}, "
                        "found " +
                            printable(json_text(in), 100));
    for (const auto& item : in.items()) {
      read(item.key(), item.value());
      if (mistake_)
        return;
    }
    check();
  }
  const failure& mistake() const { return mistake_; }
  check_rule take() { return std::move(out_); }

private:
  void refuse(const std::string& key, const std::string& why) {
    mistake_ = {errc::invalid_job, why,
                "/rules/" + out_.column + (key.empty() ? "" : "/" + key)};
  }

  void read(const std::string& key, const json& in) {
    if (key == "type")
      return read_word(key, in, out_.type);
    if (key == "then") {
      std::optional<check_action> then;
      read_word(key, in, then);
      out_.then = then.value_or(out_.then);
      return;
    }
    if (key == "not_null")
      return in.is_boolean() ? void(out_.not_null = in.get<bool>())
                             : expected(key, "true or false", in);
    if (key == "min" || key == "above")
      return read_limit(key, in, key == "above", out_.low);
    if (key == "max" || key == "below")
      return read_limit(key, in, key == "below", out_.high);
    if (key == "matches")
      return in.is_string() && !in.get_ref<const std::string&>().empty()
                 ? void(out_.matches = in.get<std::string>())
                 : expected(key, "a regular expression", in);
    if (key == "in")
      return read_values(in);
    const std::string near = nearest_word(key, rule_keys());
    std::string all;
    for (const std::string& one : rule_keys())
      all += (all.empty() ? "\"" : ", \"") + one + "\"";
    refuse(key, "unknown rule; " + (near.empty()
                                        ? "expected one of " + all
                                        : "did you mean \"" + near + "\"?"));
  }

  void expected(const std::string& key, const std::string& what,
                const json& found) {
    refuse(key,
           "expected " + what + ", found " + printable(json_text(found), 100));
  }

  template <class Enum>
  void read_word(const std::string& key, const json& in,
                 std::optional<Enum>& to) {
    if (in.is_string())
      to = parse_word<Enum>(in.get<std::string>());
    if (!to)
      expected(key, "one of " + words_text<Enum>(), in);
  }

  void read_limit(const std::string& key, const json& in, bool open,
                  std::optional<check_limit>& to) {
    if (to)
      return refuse(key, open ? "the column has this limit already; expected "
                                "one of \"min\" and \"above\", of \"max\" and "
                                "\"below\""
                              : "the column has this limit twice");
    const std::optional<check_value> value = value_in(in);
    if (!value || std::holds_alternative<bool>(*value))
      return expected(key, "a number, or a date or time as text", in);
    to = check_limit{*value, open};
  }

  void read_values(const json& in) {
    if (!in.is_array() || in.empty() || in.size() > values_most)
      return expected(
          "in", "a list of 1 to " + std::to_string(values_most) + " values",
          in);
    for (const json& one : in) {
      const std::optional<check_value> value = value_in(one);
      if (!value)
        return expected("in", "texts, numbers or booleans", one);
      const bool is_text = std::holds_alternative<std::string>(*value);
      if (!out_.in.empty() &&
          is_text != std::holds_alternative<std::string>(out_.in[0]))
        return expected("in", "values of one kind", in);
      out_.in.push_back(*value);
    }
  }

  /// What the rules of a column mean together.
  void check() {
    const bool others = !out_.matches.empty() || !out_.in.empty();
    const bool limits = out_.low || out_.high;
    if (!out_.type && !out_.not_null && !limits && !others)
      return refuse("", "says nothing of the values; expected one of \"type\", "
                        "\"not_null\", \"min\", \"max\", \"above\", "
                        "\"below\", \"matches\" and \"in\"");
    if (out_.low && out_.high) {
      const bool low_text = std::holds_alternative<std::string>(out_.low->at);
      if (low_text != std::holds_alternative<std::string>(out_.high->at))
        return refuse("", "both limits must be numbers, or both texts");
      if (!low_text && is_above(out_.low->at, out_.high->at))
        return refuse("", "no number is in this range: the lower limit is "
                          "above the upper one");
    }
    if (out_.then == check_action::clip &&
        (!limits || others || out_.not_null || out_.type ||
         (out_.low && out_.low->open) || (out_.high && out_.high->open)))
      return refuse("then", "\"clip\" brings numbers to \"min\" and \"max\"; "
                            "expected these alone: put other rules into a "
                            "\"check\" of their own");
    if (out_.then == check_action::null && out_.not_null)
      refuse("then", "\"null\" makes a value missing, which \"not_null\" "
                     "forbids; expected \"remove\" or \"mark\"");
  }

  static bool is_above(const check_value& a, const check_value& b) {
    if (std::holds_alternative<int64_t>(a) &&
        std::holds_alternative<int64_t>(b))
      return std::get<int64_t>(a) > std::get<int64_t>(b);
    if (std::holds_alternative<uint64_t>(a) &&
        std::holds_alternative<uint64_t>(b))
      return std::get<uint64_t>(a) > std::get<uint64_t>(b);
    return number(a) > number(b);
  }
  static double number(const check_value& of) {
    if (const auto* whole = std::get_if<int64_t>(&of))
      return double(*whole);
    if (const auto* large = std::get_if<uint64_t>(&of))
      return double(*large);
    return std::get<double>(of);
  }

  check_rule out_;
  failure mistake_;
};

} // namespace

check_result check_rules_of(const node& one) {
  check_result out;
  const auto usual =
      parse_word<check_action>(value_of<std::string>(one, "then"));
  for (const auto& [column, text] :
       value_of<std::map<std::string, std::string>>(one, "rules")) {
    rule_reader reader(column, usual.value_or(check_action::remove));
    reader.read(json::parse(text));
    if (reader.mistake()) {
      out.mistake = reader.mistake();
      return out;
    }
    out.rules.push_back(reader.take());
  }
  return out;
}

} // namespace ballast::graph
