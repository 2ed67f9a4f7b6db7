#include "runtime/job/field_document.hpp"

#include "runtime/base/nearest_word.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/job/job_text.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace ballast {

namespace {

using nlohmann::json;
using mistakes_t = std::vector<failure>;

/// Of a pointer that the text made up.
constexpr size_t shown_max = 200;

/// The keys that each object may have: object pointer -> keys.
std::map<std::string, std::vector<std::string>>
known_objects(const document_kind& kind, const std::vector<field>& fields) {
  std::map<std::string, std::vector<std::string>> objects;
  auto add = [&objects](const std::string& pointer) {
    auto& keys = objects[parent_of(pointer)];
    if (std::count(keys.begin(), keys.end(), key_of(pointer)) == 0)
      keys.push_back(key_of(pointer));
  };
  for (const std::string& pointer : kind.also)
    add(pointer);
  for (const described_list& list : kind.lists)
    add(list.pointer);
  for (const field& one : fields)
    for (std::string at = one.pointer; !at.empty(); at = parent_of(at))
      add(at);
  for (const described_list& list : kind.lists)
    objects.erase(list.pointer); // its items are objects, it is none
  return objects;
}

/// "; did you mean ...?", or where a key of this name belongs, or the keys
/// that are known here.
std::string advice(const document_kind& kind, const std::string& pointer,
                   const std::vector<std::string>& siblings,
                   const std::vector<field>& fields) {
  std::string near = did_you_mean(key_of(pointer), siblings);
  if (!near.empty())
    return near;
  for (const field& one : fields)
    if (key_of(one.pointer) == key_of(pointer))
      return "; did you mean " + one.pointer + "?";
  if (kind.quotes_keys)
    return "; known here: " + quoted_list(siblings);
  std::string all;
  for (const std::string& key : siblings)
    all += (all.empty() ? "" : ", ") + key;
  return "; known here: " + all;
}

/// JSON pointer of `key` inside `parent`.
std::string join(const std::string& parent, const std::string& key) {
  std::string escaped;
  for (char c : key)
    escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return parent + "/" + escaped;
}

/// Unknown keys, and values where objects or lists should be.
void check_keys(const document_kind& kind, const json& document,
                const std::vector<field>& fields, mistakes_t& mistakes) {
  for (const auto& [pointer, keys] : known_objects(kind, fields)) {
    const json* object = find_value(document, pointer);
    if (object == nullptr)
      continue;
    if (!object->is_object()) {
      mistakes.push_back(wrong_type(kind, pointer, "an object", *object));
      continue;
    }
    for (const auto& [key, value] : object->items())
      if (std::count(keys.begin(), keys.end(), key) == 0) {
        std::string at = join(pointer, key);
        mistakes.push_back({kind.mistake,
                            printable(at, shown_max) + ": unknown key" +
                                kind.place + advice(kind, at, keys, fields),
                            at});
      }
  }
  for (const described_list& known : kind.lists) {
    const json* list = find_value(document, known.pointer);
    if (list == nullptr)
      continue;
    if (!list->is_array())
      mistakes.push_back(wrong_type(kind, known.pointer, "a list", *list));
    else if (list->size() > known.items_max)
      mistakes.push_back(wrong_type(
          kind, known.pointer,
          "a list of 0 to " + std::to_string(known.items_max) + " items",
          *list));
  }
}

bool has_mistake_at(const mistakes_t& mistakes, const std::string& pointer) {
  return std::any_of(
      mistakes.begin(), mistakes.end(),
      [&pointer](const failure& m) { return m.pointer == pointer; });
}

/// A given field whose selector has another value, or that another key rules
/// out.
failure has_no_place(const document_kind& kind, const field& of,
                     const std::vector<field>& fields) {
  if (!of.without.empty())
    return {kind.mistake,
            of.pointer + ": has no place beside \"" + of.without +
                "\"; leave one of them out",
            of.pointer};
  std::string belongs;
  for (const field& other : fields)
    if (other.pointer == of.pointer)
      for (const std::string& word : other.when_is)
        belongs += (belongs.empty() ? "\"" : ", \"") + word + "\"";
  return {kind.mistake,
          of.pointer + ": has no place here; it belongs to " + of.when + " " +
              belongs,
          of.pointer};
}

failure is_required(const document_kind& kind, const field& of) {
  return {kind.mistake,
          of.pointer + ": is required" +
              (kind.place.empty() ? ": " + allowed_values(of) : kind.place),
          of.pointer};
}

/// True if something that the field hangs on is wrong, so that nothing can be
/// said about the field itself.
bool hangs_on_mistake(const field& of, const mistakes_t& mistakes) {
  for (std::string at = parent_of(of.pointer); !at.empty(); at = parent_of(at))
    if (has_mistake_at(mistakes, at))
      return true;
  return !of.when.empty() &&
         has_mistake_at(mistakes, parent_of(of.pointer) + "/" + of.when);
}

void read_fields(const document_kind& kind, const json& document,
                 const std::vector<field>& fields, object_ref into,
                 mistakes_t& mistakes) {
  std::set<std::string> placed; // pointers that some variant took
  for (const field& one : fields)
    if (applies(one, fields, document))
      placed.insert(one.pointer);
  std::set<std::string> reported;
  for (const field& one : fields) {
    if (hangs_on_mistake(one, mistakes))
      continue;
    const json* given = find_value(document, one.pointer);
    if (!applies(one, fields, document)) {
      if (given != nullptr && placed.count(one.pointer) == 0 &&
          reported.insert(one.pointer).second)
        mistakes.push_back(has_no_place(kind, one, fields));
      continue;
    }
    if (given == nullptr && one.required) {
      mistakes.push_back(is_required(kind, one));
      continue;
    }
    if (given == nullptr && one.default_value.is_null())
      continue; // a fresh struct has it
    for (failure& m : store_value(one, given ? *given : default_of(one), into))
      mistakes.push_back(std::move(m));
  }
}

} // namespace

std::vector<failure> read_document(const document_kind& kind,
                                   const json& document,
                                   const std::vector<field>& fields,
                                   object_ref into) {
  mistakes_t mistakes;
  check_keys(kind, document, fields, mistakes);
  read_fields(kind, document, fields, into, mistakes);
  return mistakes;
}

failure wrong_type(const document_kind& kind, const std::string& pointer,
                   const std::string& expected, const json& found) {
  return {kind.mistake,
          (pointer.empty() ? kind.name : pointer) + ": expected " + expected +
              ", found " + quote_value(found),
          pointer};
}

std::string did_you_mean(const std::string& word,
                         const std::vector<std::string>& candidates) {
  std::string near = nearest_word(word, candidates);
  return near.empty() ? near : "; did you mean \"" + near + "\"?";
}

std::string quoted_list(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words)
    out += (out.empty() ? "\"" : ", \"") + word + "\"";
  return out;
}

} // namespace ballast
