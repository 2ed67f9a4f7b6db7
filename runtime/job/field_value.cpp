/// One value: is it what its field allows, and where does it go?
#include "runtime/base/json_text.hpp"
#include "runtime/base/node_name.hpp"
#include "runtime/job/field_document.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/job_text.hpp"
#include "runtime/job/source_uri.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <type_traits>

namespace ballast {

namespace {

using nlohmann::json;

template <class T>
struct is_list : std::false_type {};
template <class T>
struct is_list<std::vector<T>> : std::true_type {};
template <class T>
constexpr bool is_map = std::is_same_v<T, std::map<std::string, std::string>>;
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

template <>
struct is_list<list_or_word> : std::true_type {};

/// What has no type of its own in a document: fixed values, and enums.
template <class T>
constexpr bool is_text_only =
    std::is_same_v<T, std::monostate> || std::is_same_v<T, word_place>;

template <class T>
struct scalar_of {
  using type = T;
};
template <class T>
struct scalar_of<std::vector<T>> : scalar_of<T> {};
template <class T>
struct scalar_of<std::optional<T>> : scalar_of<T> {};
template <>
struct scalar_of<list_or_word> : scalar_of<double> {};
template <>
struct scalar_of<number_or_word> : scalar_of<uint64_t> {};

/// Calls `f` with the field's place in a fresh struct.
template <class F>
auto with_fresh_place(const field& of, F&& f) {
  std::optional<decltype(std::visit(f, field_place()))> out;
  of.with_fresh(
      [&](object_ref fresh) { out.emplace(std::visit(f, of.at(fresh))); });
  return std::move(*out);
}

/// Calls `f` with a null pointer to the stored type of one value: of an item
/// for a list, of the content for an optional. Fixed values and words are
/// texts.
template <class F>
auto with_scalar(const field& of, F&& f) {
  return with_fresh_place(of, [&f](auto place) {
    using stored = std::remove_pointer_t<decltype(place)>;
    if constexpr (is_text_only<stored>)
      return f(static_cast<std::string*>(nullptr));
    else
      return f(static_cast<typename scalar_of<stored>::type*>(nullptr));
  });
}

bool is_list_field(const field& of) {
  return with_fresh_place(of, [](auto place) {
    return is_list<std::remove_pointer_t<decltype(place)>>::value;
  });
}

json_kind scalar_type(const field& of) {
  return with_scalar(of, [](auto* place) {
    using scalar = std::remove_pointer_t<decltype(place)>;
    if constexpr (std::is_same_v<scalar, bool>)
      return json_kind::boolean;
    else if constexpr (std::is_same_v<scalar, std::string>)
      return json_kind::string;
    else if constexpr (std::is_same_v<scalar, job> || is_map<scalar>)
      return json_kind::object;
    else if constexpr (std::is_integral_v<scalar>)
      return json_kind::integer;
    else
      return json_kind::number;
  });
}

std::string scalar_allowed(const field& of) {
  const json_kind type = scalar_type(of);
  if (of.type_only)
    return "a value of type " + to_string(type);
  switch (type) {
  case json_kind::boolean:
    return "true or false";
  case json_kind::integer:
    return range_text(of, "an integer");
  case json_kind::number:
    return range_text(of, "a number");
  case json_kind::object:
    return of.allowed.empty() ? "an object"
                              : "an object, each value " + allowed_texts(of);
  case json_kind::string:
  case json_kind::array: // of no scalar
    break;
  }
  return allowed_texts(of);
}

bool in_range(const field_range& r, double number) {
  return !(number < r.low || number > r.high ||
           (r.low_excluded && number == r.low) ||
           (r.high_excluded && number == r.high));
}

failure wrong(const field& of, const std::string& pointer, const json& value) {
  return {of.mistake,
          pointer + ": expected " + scalar_allowed(of) + ", found " +
              quote_value(value),
          pointer};
}

failure absent(const field& of, const std::string& pointer,
               const std::string& text) {
  const std::string has = quoted_list(of.allowed);
  return {errc::not_in_build,
          pointer + ": \"" + text + "\" is not in this build, which has " + has,
          pointer};
}

failure check_text(const field& of, const std::string& pointer,
                   const json& value) {
  const std::string& text = value.get_ref<const std::string&>();
  if (text.empty() && may_be_empty(of))
    return {};
  bool plain = !text.empty() && text.size() <= 4096 &&
               text.find('\0') == std::string::npos;
  auto listed = [&text](const std::vector<std::string>& words) {
    return std::count(words.begin(), words.end(), text) > 0;
  };
  if (!plain)
    return {of.mistake,
            pointer + ": expected " + scalar_allowed(of) +
                " of 1 to 4096 bytes, found " + quote_value(value),
            pointer};
  if (listed(of.allowed))
    return {};
  if (of.later_open || listed(of.later))
    return absent(of, pointer, text);
  if (of.text == text_kind::path ||
      (of.text == text_kind::name && is_node_name(text)) ||
      (of.text == text_kind::plain && of.allowed.empty()))
    return {};
  if (of.text == text_kind::path_or_word && text.size() > 12 &&
      text.compare(text.size() - 12, 12, ".safetensors") == 0)
    return {};
  if (of.text == text_kind::uri || of.text == text_kind::place)
    return check_address(of, pointer, text);
  failure mistake = wrong(of, pointer, value);
  mistake.message += did_you_mean(text, of.allowed);
  return mistake;
}

/// Whether `value` is of the type, as JSON Schema has it; integers are those
/// without a sign and a point.
template <class T>
bool is_of_type(const json& value) {
  if constexpr (is_map<T>)
    return value.is_object();
  else if constexpr (std::is_same_v<T, bool>)
    return value.is_boolean();
  else if constexpr (std::is_same_v<T, std::string>)
    return value.is_string();
  else if constexpr (std::is_integral_v<T>)
    return value.is_number_unsigned();
  else
    return value.is_number();
}

/// Checks one value, and stores it in `out` when right.
template <class T>
failure read_scalar(const field& of, const std::string& pointer,
                    const json& value, T& out) {
  if (of.type_only) {
    if (!is_of_type<T>(value))
      return wrong(of, pointer, value);
    out = value.get<T>();
    return {};
  }
  if constexpr (std::is_same_v<T, bool>) {
    if (!value.is_boolean())
      return wrong(of, pointer, value);
    out = value.get<bool>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!value.is_string())
      return wrong(of, pointer, value);
    if (failure mistake = check_text(of, pointer, value))
      return mistake;
    out = value.get<std::string>();
  } else {
    if (!value.is_number())
      return wrong(of, pointer, value);
    // 3.0 is an integer, as in JSON Schema. Every bound of an integer is below
    // 2^53, so that the conversion to double decides rightly.
    double number = value.get<double>();
    if (std::is_integral_v<T> && number != std::floor(number))
      return wrong(of, pointer, value);
    if (!in_range(of.range, number))
      return wrong(of, pointer, value);
    if constexpr (std::is_integral_v<T>)
      out = value.is_number_float() ? T(number) : value.get<T>();
    else
      out = number;
  }
  return {};
}

std::string list_allowed(const field& of, const std::string& item) {
  return "a list of " + std::to_string(of.items_min) + " to " +
         std::to_string(of.items_max) + " items, each " + item;
}

/// A list, or a table: then its items are lists themselves.
template <class T>
std::vector<failure> read_list(const field& of, const std::string& pointer,
                               const json& value, std::vector<T>& out) {
  constexpr bool texts = std::is_same_v<T, std::string>;
  if (of.one_or_list && (texts ? value.is_string() : value.is_number()))
    return read_list(of, pointer, json::array({value}), out);
  if (!value.is_array() || value.size() < of.items_min ||
      value.size() > of.items_max) {
    std::string item = scalar_allowed(of);
    if (is_list<T>::value)
      item = list_allowed(of, item);
    return {{of.mistake,
             pointer + ": expected " + list_allowed(of, item) + ", found " +
                 quote_value(value),
             pointer}};
  }
  std::vector<failure> mistakes;
  std::vector<T> items(value.size());
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string at = pointer + "/" + std::to_string(i);
    if constexpr (is_list<T>::value) {
      for (failure& mistake : read_list(of, at, value[i], items[i]))
        mistakes.push_back(std::move(mistake));
    } else if (failure mistake = read_scalar(of, at, value[i], items[i])) {
      mistakes.push_back(std::move(mistake));
    }
  }
  if (mistakes.empty())
    out = std::move(items);
  return mistakes;
}

/// Instead of the list or the number.
template <class T>
std::vector<failure> read_word(const field& of, const json& value,
                               const T& out) {
  const auto text = value.get<std::string>();
  if (text != out.word)
    return {{of.mistake,
             of.pointer + ": expected " + allowed_values(of) + ", found " +
                 quote_value(value) + did_you_mean(text, of.allowed),
             of.pointer}};
  out.choose();
  return {};
}

/// Of one value that may be any JSON.
constexpr size_t json_bytes_max = 64 << 10;

/// An object of texts.
std::vector<failure> read_map(const field& of, const json& value,
                              std::map<std::string, std::string>& out) {
  if (value.is_object() && value.empty() && of.items_min > 0)
    return {{of.mistake, of.pointer + ": expected keys, found {}", of.pointer}};
  if (!value.is_object() || value.size() > of.items_max)
    return {wrong(of, of.pointer, value)};
  std::vector<failure> mistakes;
  std::map<std::string, std::string> read;
  for (const auto& [key, text] : value.items()) {
    const std::string at = of.pointer + "/" + key;
    if (of.json_values) {
      read[key] = json_text(text);
      if (read[key].size() > json_bytes_max)
        mistakes.push_back({of.mistake,
                            at + ": expected at most " +
                                std::to_string(json_bytes_max) + " bytes",
                            at});
      continue;
    }
    const bool known =
        text.is_string() &&
        (of.allowed.empty()
             ? !check_text(of, at, text)
             : std::ranges::count(of.allowed, text.get<std::string>()) > 0);
    if (known)
      read[key] = text.get<std::string>();
    else
      mistakes.push_back(
          {of.mistake,
           at + ": expected " + allowed_texts(of) + ", found " +
               quote_value(text) +
               (text.is_string() ? did_you_mean(text, of.allowed) : ""),
           at});
  }
  if (mistakes.empty())
    out = std::move(read);
  return mistakes;
}

} // namespace

std::string allowed_values(const field& of) {
  std::string one = scalar_allowed(of);
  if (is_table(of))
    one = list_allowed(of, one);
  if (has_word(of))
    return quoted_list(of.allowed) + " or " +
           (is_list_field(of) ? list_allowed(of, one) : one);
  if (is_list_field(of))
    return (of.one_or_list ? one + ", or " : "") + list_allowed(of, one);
  return is_nullable(of) ? "null or " + one : one;
}

json_kind json_type(const field& of, bool of_item) {
  return is_list_field(of) && !of_item ? json_kind::array : scalar_type(of);
}

bool is_nullable(const field& of) {
  return !of.type_only && with_fresh_place(of, [](auto place) {
    return is_optional<std::remove_pointer_t<decltype(place)>>::value;
  });
}

bool is_table(const field& of) {
  return with_fresh_place(of, [](auto place) {
    using stored = std::remove_pointer_t<decltype(place)>;
    if constexpr (is_list<stored>::value &&
                  !std::is_same_v<stored, list_or_word>)
      return is_list<typename stored::value_type>::value;
    else
      return false;
  });
}

bool has_word(const field& of) {
  return with_fresh_place(of, [](auto place) {
    return std::is_same_v<decltype(place), list_or_word> ||
           std::is_same_v<decltype(place), number_or_word>;
  });
}

std::vector<failure> store_value(const field& of, const json& value,
                                 object_ref into) {
  auto store = [&](auto place) -> std::vector<failure> {
    using stored = std::remove_pointer_t<decltype(place)>;
    failure mistake;
    if constexpr (is_text_only<stored>) {
      std::string checked;
      mistake = read_scalar(of, of.pointer, value, checked);
      if constexpr (std::is_same_v<stored, word_place>)
        if (!mistake)
          place.store(checked);
    } else if constexpr (std::is_same_v<stored, list_or_word>) {
      if (value.is_string())
        return read_word(of, value, place);
      *place.chosen = false;
      return read_list(of, of.pointer, value, *place.list);
    } else if constexpr (std::is_same_v<stored, number_or_word>) {
      if (value.is_string())
        return read_word(of, value, place);
      uint64_t number = 0;
      mistake = read_scalar(of, of.pointer, value, number);
      if (mistake)
        mistake.message.insert(mistake.message.find("expected ") + 9,
                               quoted_list(of.allowed) + " or ");
      else
        *place.number = number;
    } else if constexpr (is_list<stored>::value) {
      return read_list(of, of.pointer, value, *place);
    } else if constexpr (is_map<stored>) {
      return read_map(of, value, *place);
    } else if constexpr (std::is_same_v<stored, job>) {
      if (!value.is_object())
        return {wrong(of, of.pointer, value)};
      job_result read = parse_job(json_text(value), {}, "/");
      if (read.value)
        *place = std::move(*read.value);
      return std::move(read.mistakes);
    } else if constexpr (is_optional<stored>::value) {
      typename stored::value_type content{};
      if (value.is_null() && is_nullable(of)) {
        place->reset();
        return {};
      }
      mistake = read_scalar(of, of.pointer, value, content);
      if (mistake && is_nullable(of))
        mistake.message.insert(mistake.message.find("expected ") + 9,
                               "null or ");
      else if (!mistake)
        *place = content;
    } else {
      mistake = read_scalar(of, of.pointer, value, *place);
    }
    return mistake ? std::vector{mistake} : std::vector<failure>{};
  };
  return std::visit(store, of.at(into));
}

json load_value(const field& of, object_ref from) {
  return std::visit(
      [&of](auto place) -> json {
        using stored = std::remove_pointer_t<decltype(place)>;
        if constexpr (std::is_same_v<stored, std::monostate>)
          return of.default_value;
        else if constexpr (std::is_same_v<stored, word_place>)
          return place.load();
        else if constexpr (std::is_same_v<stored, list_or_word>)
          return *place.chosen ? json(place.word) : json(*place.list);
        else if constexpr (std::is_same_v<stored, number_or_word>)
          return *place.number ? json(**place.number) : json(place.word);
        else if constexpr (std::is_same_v<stored, job>)
          return to_json(*place);
        else if constexpr (is_optional<stored>::value)
          return *place ? json(**place) : json(nullptr);
        else if constexpr (is_map<stored>) {
          if (!of.json_values)
            return *place;
          json out = json::object();
          for (const auto& [key, text] : *place)
            out[key] = json::parse(text);
          return out;
        } else
          return *place;
      },
      of.at(from));
}

} // namespace ballast
