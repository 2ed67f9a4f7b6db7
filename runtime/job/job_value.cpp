/// Checks one value against its field and stores it in the job.
#include "runtime/base/json_text.hpp"
#include "runtime/base/node_name.hpp"
#include "runtime/job/job_field.hpp"
#include "runtime/job/job_text.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace ballast {

namespace {

using nlohmann::json;

template <class T>
struct is_list : std::false_type {};
template <class T>
struct is_list<std::vector<T>> : std::true_type {};
template <class T>
struct is_optional : std::false_type {};
template <class T>
struct is_optional<std::optional<T>> : std::true_type {};

template <class T>
struct scalar_of {
  using type = T;
};
template <class T>
struct scalar_of<std::vector<T>> : scalar_of<T> {};
template <class T>
struct scalar_of<std::optional<T>> : scalar_of<T> {};

/// Calls `f` with a null pointer of the stored type: for a list the type of an
/// item, for an optional that of its content, for a fixed value text.
template <class F>
auto with_scalar(const job_field& field, F&& f) {
  job scratch;
  return std::visit(
      [&f](auto place) {
        using stored = std::remove_pointer_t<decltype(place)>;
        if constexpr (std::is_same_v<stored, std::monostate>)
          return f(static_cast<std::string*>(nullptr));
        else
          return f(static_cast<typename scalar_of<stored>::type*>(nullptr));
      },
      field.at(scratch));
}

bool is_list_field(const job_field& field) {
  job scratch;
  return std::visit(
      [](auto place) {
        return is_list<std::remove_pointer_t<decltype(place)>>::value;
      },
      field.at(scratch));
}

std::string scalar_type(const job_field& field) {
  return with_scalar(field, [](auto* place) -> std::string {
    using scalar = std::remove_pointer_t<decltype(place)>;
    if constexpr (std::is_same_v<scalar, bool>)
      return "boolean";
    else if constexpr (std::is_same_v<scalar, std::string>)
      return "string";
    else if constexpr (std::is_integral_v<scalar>)
      return "integer";
    else
      return "number";
  });
}

std::string number_text(double number) {
  // Plain digits as long as they are exact, else the shortest JSON form.
  if (number == std::floor(number) && std::abs(number) < 0x1p53)
    return json_text(json(int64_t(number)));
  return json_text(json(number));
}

std::string range_text(const job_field& field, const std::string& noun) {
  const field_range& r = field.range;
  if (r.low == r.high)
    return number_text(r.low);
  std::string low = r.low_excluded ? "above " : "from ";
  std::string high = std::isinf(r.high) ? ""
                     : r.high_excluded  ? " to below " + number_text(r.high)
                                        : " to " + number_text(r.high);
  return noun + " " + low + number_text(r.low) + high;
}

std::string scalar_allowed(const job_field& field) {
  std::string type = scalar_type(field);
  if (type == "boolean")
    return "true or false";
  if (type == "integer")
    return range_text(field, "an integer");
  if (type == "number")
    return range_text(field, "a number");
  std::string words;
  for (const std::string& word : field.allowed)
    words.append(words.empty() ? "\"" : ", \"").append(word).append("\"");
  switch (field.text) {
  case text_kind::path_or_word:
    return words + ", or a path that ends in .safetensors";
  case text_kind::name:
    return "1 to 64 letters, digits, '.', '_' or '-', the first no '.' or '-'";
  case text_kind::path:
    return "a path";
  case text_kind::uri:
    return "a path, a glob or a file:// URI";
  case text_kind::plain:
    break;
  }
  if (words.empty())
    return "text";
  return field.allowed.size() == 1 ? words : "one of " + words;
}

bool in_range(const field_range& r, double number) {
  return !(number < r.low || number > r.high ||
           (r.low_excluded && number == r.low) ||
           (r.high_excluded && number == r.high));
}

failure wrong(const job_field& field, const std::string& pointer,
              const json& value) {
  return {errc::invalid_job,
          pointer + ": expected " + scalar_allowed(field) + ", found " +
              quote_value(value),
          pointer};
}

failure absent(const job_field& field, const std::string& pointer,
               const std::string& text) {
  std::string has;
  for (const std::string& word : field.allowed)
    has.append(has.empty() ? "\"" : ", \"").append(word).append("\"");
  return {errc::not_in_build,
          pointer + ": \"" + text + "\" is not in this build, which has " + has,
          pointer};
}

/// Reports a text of the form SCHEME://... with a scheme that this build cannot
/// read.
failure check_uri(const std::string& pointer, const std::string& text) {
  size_t end = text.find("://");
  if (end == std::string::npos || text.rfind("file:///", 0) == 0)
    return {};
  std::string scheme = text.substr(0, end);
  if (scheme == "s3" || scheme == "gs" || scheme == "hdfs")
    return {errc::not_in_build,
            pointer + ": " + scheme +
                ":// is not in this build, which reads paths and file:// URIs",
            pointer};
  return {errc::invalid_job,
          pointer +
              ": expected a path, a glob or a URI like "
              "file:///folder/name.csv, found " +
              json_text(json(text)),
          pointer};
}

failure check_text(const job_field& field, const std::string& pointer,
                   const json& value) {
  const std::string& text = value.get_ref<const std::string&>();
  if (text.empty() && may_be_empty(field))
    return {};
  bool plain = !text.empty() && text.size() <= 4096 &&
               text.find('\0') == std::string::npos;
  auto listed = [&text](const std::vector<std::string>& words) {
    return std::count(words.begin(), words.end(), text) > 0;
  };
  if (!plain)
    return {errc::invalid_job,
            pointer + ": expected " + scalar_allowed(field) +
                " of 1 to 4096 bytes, found " + quote_value(value),
            pointer};
  if (listed(field.allowed))
    return {};
  if (field.later_open || listed(field.later))
    return absent(field, pointer, text);
  if (field.text == text_kind::name && is_node_name(text))
    return {};
  if (field.text == text_kind::path)
    return {};
  if (field.text == text_kind::path_or_word && text.size() > 12 &&
      text.compare(text.size() - 12, 12, ".safetensors") == 0)
    return {};
  if (field.text == text_kind::uri)
    return check_uri(pointer, text);
  if (field.text == text_kind::plain && field.allowed.empty())
    return {};
  failure mistake = wrong(field, pointer, value);
  std::string near = nearest_word(text, field.allowed);
  if (!near.empty())
    mistake.message += "; did you mean \"" + near + "\"?";
  return mistake;
}

/// Checks one value, and stores it in `out` if it is valid.
template <class T>
failure read_scalar(const job_field& field, const std::string& pointer,
                    const json& value, T& out) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!value.is_boolean())
      return wrong(field, pointer, value);
    out = value.get<bool>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!value.is_string())
      return wrong(field, pointer, value);
    if (failure mistake = check_text(field, pointer, value))
      return mistake;
    out = value.get<std::string>();
  } else {
    if (!value.is_number())
      return wrong(field, pointer, value);
    // 3.0 is an integer, as in JSON Schema. Integer bounds are below 2^53, so
    // that comparing as double is exact.
    double number = value.get<double>();
    if (std::is_integral_v<T> && number != std::floor(number))
      return wrong(field, pointer, value);
    if (!in_range(field.range, number))
      return wrong(field, pointer, value);
    if constexpr (std::is_integral_v<T>)
      out = value.is_number_float() ? T(number) : value.get<T>();
    else
      out = number;
  }
  return {};
}

std::string list_allowed(const job_field& field, const std::string& item) {
  return "a list of " + std::to_string(field.items_min) + " to " +
         std::to_string(field.items_max) + " items, each " + item;
}

/// A list, or a table, whose items are lists themselves.
template <class T>
std::vector<failure> read_list(const job_field& field,
                               const std::string& pointer, const json& value,
                               std::vector<T>& out) {
  if (!value.is_array() || value.size() < field.items_min ||
      value.size() > field.items_max) {
    std::string item = scalar_allowed(field);
    if (is_list<T>::value)
      item = list_allowed(field, item);
    return {{errc::invalid_job,
             pointer + ": expected " + list_allowed(field, item) + ", found " +
                 quote_value(value),
             pointer}};
  }
  std::vector<failure> mistakes;
  std::vector<T> items(value.size());
  for (size_t i = 0; i < value.size(); ++i) {
    const std::string at = pointer + "/" + std::to_string(i);
    if constexpr (is_list<T>::value) {
      for (failure& mistake : read_list(field, at, value[i], items[i]))
        mistakes.push_back(std::move(mistake));
    } else if (failure mistake = read_scalar(field, at, value[i], items[i])) {
      mistakes.push_back(std::move(mistake));
    }
  }
  if (mistakes.empty())
    out = std::move(items);
  return mistakes;
}

} // namespace

std::string allowed_values(const job_field& field) {
  std::string one = scalar_allowed(field);
  if (is_table(field))
    one = list_allowed(field, one);
  if (is_list_field(field))
    return list_allowed(field, one);
  return is_nullable(field) ? "null or " + one : one;
}

std::string json_type(const job_field& field, bool of_item) {
  return is_list_field(field) && !of_item ? "array" : scalar_type(field);
}

bool is_nullable(const job_field& field) {
  job scratch;
  return std::visit(
      [](auto place) {
        return is_optional<std::remove_pointer_t<decltype(place)>>::value;
      },
      field.at(scratch));
}

bool may_be_empty(const job_field& field) {
  return !field.required && default_of(field) == json("");
}

bool is_table(const job_field& field) {
  job scratch;
  return std::visit(
      [](auto place) {
        using stored = std::remove_pointer_t<decltype(place)>;
        if constexpr (is_list<stored>::value)
          return is_list<typename stored::value_type>::value;
        else
          return false;
      },
      field.at(scratch));
}

std::vector<failure> store_value(const job_field& field, const json& value,
                                 job& into) {
  auto store = [&](auto place) -> std::vector<failure> {
    using stored = std::remove_pointer_t<decltype(place)>;
    failure mistake;
    if constexpr (std::is_same_v<stored, std::monostate>) {
      std::string checked;
      mistake = read_scalar(field, field.pointer, value, checked);
    } else if constexpr (is_list<stored>::value) {
      return read_list(field, field.pointer, value, *place);
    } else if constexpr (is_optional<stored>::value) {
      typename stored::value_type content{};
      if (value.is_null()) {
        place->reset();
        return {};
      }
      mistake = read_scalar(field, field.pointer, value, content);
      if (mistake)
        mistake.message.insert(mistake.message.find("expected ") + 9,
                               "null or ");
      else
        *place = content;
    } else {
      mistake = read_scalar(field, field.pointer, value, *place);
    }
    return mistake ? std::vector{mistake} : std::vector<failure>{};
  };
  return std::visit(store, field.at(into));
}

json load_value(const job_field& field, job& from) {
  return std::visit(
      [&field](auto place) -> json {
        using stored = std::remove_pointer_t<decltype(place)>;
        if constexpr (std::is_same_v<stored, std::monostate>)
          return field.default_value;
        else if constexpr (is_optional<stored>::value)
          return *place ? json(**place) : json(nullptr);
        else
          return *place;
      },
      field.at(from));
}

json default_of(const job_field& field) {
  job fresh;
  return field.default_value.is_null() ? load_value(field, fresh)
                                       : field.default_value;
}

} // namespace ballast
