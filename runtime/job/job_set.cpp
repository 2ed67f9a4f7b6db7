/// --set /json/pointer=value: changes to a job document before it is parsed.
#include "runtime/base/printable.hpp"
#include "runtime/job/job_field.hpp"
#include "runtime/job/job_text.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ballast {

namespace {

using nlohmann::json;

failure bad_set(const std::string& set, const std::string& pointer,
                const std::string& why) {
  return {errc::usage, "--set " + set + ": " + why, pointer};
}

/// The field at a pointer, with list indices normalised.
bool is_text_field(const std::string& pointer) {
  job_form form{true, 256};
  const std::string sources = "/data/sources/";
  if (pointer.rfind("/data/graph/", 0) == 0)
    form.graph_nodes = 256;
  if (pointer.rfind(sources, 0) == 0)
    form.sources = {pointer.substr(
        sources.size(), pointer.find('/', sources.size()) - sources.size())};
  bool text = false;
  for (const job_field& field : job_fields(form))
    if (field.pointer == pointer) {
      if (json_type(field) != json_kind::string)
        return false;
      text = true;
    }
  return text;
}

/// The value of --set: parsed as JSON if possible, else text. For a text field,
/// 1 or true stay text, because a name is never meant as a number.
json read_value(const std::string& pointer, const std::string& text) {
  json value = json::parse(text, nullptr, false);
  if (value.is_discarded())
    return text;
  bool scalar = value.is_number() || value.is_boolean();
  return scalar && is_text_field(pointer) ? json(text) : value;
}

bool is_index(const std::string& part) {
  return !part.empty() && part.size() < 6 &&
         part.find_first_not_of("0123456789") == std::string::npos;
}

std::vector<std::string> split_pointer(const std::string& pointer) {
  std::vector<std::string> parts;
  for (size_t begin = 1; begin <= pointer.size();) {
    size_t end = std::min(pointer.find('/', begin), pointer.size());
    std::string part;
    for (size_t i = begin; i < end; ++i) {
      if (pointer[i] == '~' && i + 1 < end && pointer[i + 1] == '0')
        part += '~', ++i;
      else if (pointer[i] == '~' && i + 1 < end && pointer[i + 1] == '1')
        part += '/', ++i;
      else
        part += pointer[i];
    }
    parts.push_back(std::move(part));
    begin = end + 1;
  }
  return parts;
}

/// Changes one value. Creates missing objects on the way, but no list items.
failure set_value(const std::string& set, const std::string& pointer,
                  json value, json& document) {
  json* at = &document;
  std::vector<std::string> parts = split_pointer(pointer);
  for (size_t i = 0; i < parts.size(); ++i) {
    bool last = i + 1 == parts.size();
    if (at->is_null())
      *at = json::object();
    if (at->is_object()) {
      if (last && value.is_null()) {
        at->erase(parts[i]);
        return {};
      }
      at = &(*at)[parts[i]];
    } else if (at->is_array()) {
      if (parts[i] == "-" && at->size() < json_text_bytes_max)
        at->push_back(nullptr);
      size_t index = parts[i] == "-"      ? at->size() - 1
                     : is_index(parts[i]) ? std::stoul(parts[i])
                                          : at->size();
      if (index >= at->size())
        return bad_set(set, pointer,
                       "the list has " + std::to_string(at->size()) +
                           " items; give an index below that, or - to append");
      if (last && value.is_null()) {
        at->erase(index);
        return {};
      }
      at = &(*at)[index];
    } else {
      return bad_set(set, pointer,
                     "part " + std::to_string(i) +
                         " of the pointer is neither an object nor a list");
    }
  }
  *at = std::move(value);
  return {};
}

} // namespace

failure apply_sets(const std::vector<std::string>& sets, json& document) {
  for (const std::string& set : sets) {
    if (!is_utf8(set))
      return bad_set(printable(set), "", "the text is not UTF-8");
    size_t equals = set.find('=');
    if (equals == std::string::npos || equals < 2 || set[0] != '/')
      return bad_set(set, "",
                     "expected /json/pointer=value, as in "
                     "/train/epochs=5");
    std::string pointer = set.substr(0, equals);
    json value = read_value(pointer, set.substr(equals + 1));
    if (failure f = set_value(set, pointer, std::move(value), document))
      return f;
  }
  return {};
}

} // namespace ballast
