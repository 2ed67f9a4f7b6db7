#include "runtime/job/field.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ballast {

using nlohmann::json;

field& field::between(double low, double high) {
  range = {low, high, false, false};
  return *this;
}

field& field::above(double low, double high) {
  range = {low, high, true, false};
  return *this;
}

field& field::below(double low, double high) {
  range = {low, high, false, true};
  return *this;
}

field& field::items(size_t least, size_t most) {
  items_min = least;
  items_max = most;
  return *this;
}

field& field::one_or_more() {
  one_or_list = true;
  return *this;
}

field& field::any_json() {
  json_values = true;
  return *this;
}

field& field::one_of(std::vector<std::string> texts) {
  allowed = std::move(texts);
  return *this;
}

field& field::later_builds(std::vector<std::string> texts) {
  later = std::move(texts);
  return *this;
}

field& field::is(text_kind kind) {
  text = kind;
  return *this;
}

field& field::must() {
  required = true;
  return *this;
}

field& field::otherwise(json value) {
  default_value = std::move(value);
  return *this;
}

field& field::only_with(std::string key, std::vector<std::string> values) {
  when = std::move(key);
  when_is = std::move(values);
  return *this;
}

field& field::only_without(std::string key) {
  without = std::move(key);
  return *this;
}

field& field::take_words() {
  with_fresh([this](object_ref fresh) {
    const field_place place = at(fresh);
    if (const auto* of_enum = std::get_if<word_place>(&place))
      allowed.assign(of_enum->words().begin(), of_enum->words().end());
    else if (const auto* of_list = std::get_if<list_or_word>(&place))
      allowed = {of_list->word};
    else if (const auto* of_number = std::get_if<number_or_word>(&place))
      allowed = {of_number->word};
  });
  return *this;
}

json default_of(const field& of) {
  if (!of.default_value.is_null())
    return of.default_value;
  json out;
  of.with_fresh([&](object_ref fresh) { out = load_value(of, fresh); });
  return out;
}

bool may_be_empty(const field& of) {
  return !of.required && default_of(of) == json("");
}

std::string key_of(const std::string& pointer) {
  return pointer.substr(pointer.rfind('/') + 1);
}

std::string parent_of(const std::string& pointer) {
  return pointer.substr(0, pointer.rfind('/'));
}

const json* find_value(const json& document, const std::string& pointer) {
  const json* at = &document;
  for (size_t begin = 1; begin <= pointer.size();) {
    size_t end = std::min(pointer.find('/', begin), pointer.size());
    std::string key = pointer.substr(begin, end - begin);
    begin = end + 1;
    if (at->is_object()) {
      auto found = at->find(key);
      if (found == at->end())
        return nullptr;
      at = &*found;
    } else if (at->is_array()) {
      // Lists in the table hold objects; in field keys, list items are plain
      // indices.
      size_t index = key.find_first_not_of("0123456789") == std::string::npos
                         ? std::stoul(key)
                         : at->size();
      if (index >= at->size())
        return nullptr;
      at = &(*at)[index];
    } else {
      return nullptr;
    }
  }
  return at;
}

bool applies(const field& of, const std::vector<field>& fields,
             const json& document) {
  std::string parent = parent_of(of.pointer);
  if (!of.without.empty())
    return find_value(document, parent + "/" + of.without) == nullptr;
  if (of.when.empty())
    return true;
  std::string selector = parent + "/" + of.when;
  json value;
  if (const json* given = find_value(document, selector))
    value = *given;
  else
    for (const field& other : fields)
      if (other.pointer == selector && !other.required)
        value = default_of(other);
  return value.is_string() &&
         std::count(of.when_is.begin(), of.when_is.end(),
                    value.get_ref<const std::string&>()) > 0;
}

} // namespace ballast
