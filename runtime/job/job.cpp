/// Parses a job and writes it back, by walking the table of fields.
#include "runtime/job/job.hpp"

#include "runtime/base/printable.hpp"
#include "runtime/job/job_field.hpp"
#include "runtime/job/job_text.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace ballast {

namespace {

using nlohmann::json;
using mistakes_t = std::vector<failure>;

constexpr size_t pipeline_steps_max = 256;
const std::string pipeline_pointer = "/data/pipeline";

failure wrong_type(const std::string& pointer, const char* expected,
                   const json& found) {
  std::string name = pointer.empty() ? "job" : pointer;
  return {errc::invalid_job,
          name + ": expected " + expected + ", found " + quote_value(found),
          pointer};
}

/// Determines which fields exist. A list or object of the wrong type counts as
/// absent here; check_keys reports it.
job_form form_of(const json& document) {
  job_form form;
  form.test = find_value(document, "/data/test") != nullptr;
  const json* pipeline = find_value(document, pipeline_pointer);
  if (pipeline != nullptr && pipeline->is_array())
    form.pipeline_steps = std::min(pipeline->size(), pipeline_steps_max);
  return form;
}

/// The keys that each object may have: object pointer -> keys.
std::map<std::string, std::vector<std::string>>
known_objects(const std::vector<job_field>& fields) {
  std::map<std::string, std::vector<std::string>> objects;
  auto add = [&objects](const std::string& pointer) {
    auto& keys = objects[parent_of(pointer)];
    if (std::count(keys.begin(), keys.end(), key_of(pointer)) == 0)
      keys.push_back(key_of(pointer));
  };
  add("/data/test");
  add(pipeline_pointer);
  for (const job_field& field : fields)
    for (std::string at = field.pointer; !at.empty(); at = parent_of(at))
      add(at);
  objects.erase(pipeline_pointer); // a list; its items are objects
  return objects;
}

/// "; did you mean ...?", or the place where a key of this name belongs, or
/// nothing.
std::string advice(const std::string& pointer,
                   const std::vector<std::string>& siblings,
                   const std::vector<job_field>& fields) {
  std::string near = nearest_word(key_of(pointer), siblings);
  if (!near.empty())
    return "; did you mean \"" + near + "\"?";
  for (const job_field& field : fields)
    if (key_of(field.pointer) == key_of(pointer))
      return "; did you mean " + field.pointer + "?";
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

/// Of a pointer that comes from the user's text.
constexpr size_t shown_max = 200;

/// Reports unknown keys, and plain values in the place of objects or lists.
void check_keys(const json& document, const std::vector<job_field>& fields,
                mistakes_t& mistakes) {
  for (const auto& [pointer, keys] : known_objects(fields)) {
    const json* object = find_value(document, pointer);
    if (object == nullptr)
      continue;
    if (!object->is_object()) {
      mistakes.push_back(wrong_type(pointer, "an object", *object));
      continue;
    }
    for (const auto& [key, value] : object->items())
      if (std::count(keys.begin(), keys.end(), key) == 0) {
        std::string at = join(pointer, key);
        mistakes.push_back({errc::invalid_job,
                            printable(at, shown_max) + ": unknown key" +
                                advice(at, keys, fields),
                            at});
      }
  }
  const json* pipeline = find_value(document, pipeline_pointer);
  if (pipeline == nullptr)
    return;
  if (!pipeline->is_array())
    mistakes.push_back(wrong_type(pipeline_pointer, "a list", *pipeline));
  else if (pipeline->size() > pipeline_steps_max)
    mistakes.push_back(
        wrong_type(pipeline_pointer, "a list of 0 to 256 items", *pipeline));
}

bool has_mistake_at(const mistakes_t& mistakes, const std::string& pointer) {
  return std::any_of(
      mistakes.begin(), mistakes.end(),
      [&pointer](const failure& m) { return m.pointer == pointer; });
}

/// The field is given although its selector has another value, or another key
/// excludes it.
failure has_no_place(const job_field& field,
                     const std::vector<job_field>& fields) {
  if (!field.without.empty())
    return {errc::invalid_job,
            field.pointer + ": has no place beside \"" + field.without +
                "\"; leave one of them out",
            field.pointer};
  std::string belongs;
  for (const job_field& other : fields)
    if (other.pointer == field.pointer)
      for (const std::string& word : other.when_is)
        belongs += (belongs.empty() ? "\"" : ", \"") + word + "\"";
  return {errc::invalid_job,
          field.pointer + ": has no place here; it belongs to " + field.when +
              " " + belongs,
          field.pointer};
}

failure is_required(const job_field& field) {
  return {errc::invalid_job,
          field.pointer + ": is required: " + allowed_values(field),
          field.pointer};
}

/// True if a field that `field` depends on has a mistake, so that `field`
/// itself cannot be judged.
bool hangs_on_mistake(const job_field& field, const mistakes_t& mistakes) {
  for (std::string at = parent_of(field.pointer); !at.empty();
       at = parent_of(at))
    if (has_mistake_at(mistakes, at))
      return true;
  return !field.when.empty() &&
         has_mistake_at(mistakes, parent_of(field.pointer) + "/" + field.when);
}

void read_fields(const json& document, const std::vector<job_field>& fields,
                 job& out, mistakes_t& mistakes) {
  std::set<std::string> placed; // pointers that some variant accepted
  for (const job_field& field : fields)
    if (applies(field, fields, document))
      placed.insert(field.pointer);
  std::set<std::string> reported;
  for (const job_field& field : fields) {
    if (hangs_on_mistake(field, mistakes))
      continue;
    const json* given = find_value(document, field.pointer);
    if (!applies(field, fields, document)) {
      if (given != nullptr && placed.count(field.pointer) == 0 &&
          reported.insert(field.pointer).second)
        mistakes.push_back(has_no_place(field, fields));
      continue;
    }
    if (given == nullptr && field.required) {
      mistakes.push_back(is_required(field));
      continue;
    }
    if (given == nullptr && field.default_value.is_null())
      continue; // a default-constructed job contains it
    for (failure& m :
         store_value(field, given ? *given : default_of(field), out))
      mistakes.push_back(std::move(m));
  }
}

} // namespace

job_result parse_job(const std::string& text,
                     const std::vector<std::string>& sets,
                     const std::string& base_folder) {
  json document;
  job_result result;
  if (failure f = read_json_text(text, errc::invalid_job, "job", document)) {
    result.mistakes.push_back(std::move(f));
    return result;
  }
  if (!document.is_object()) {
    result.mistakes.push_back(wrong_type("", "an object", document));
    return result;
  }
  if (failure f = apply_sets(sets, document)) {
    result.mistakes.push_back(std::move(f));
    return result;
  }
  std::vector<job_field> fields = job_fields(form_of(document));
  job read;
  check_keys(document, fields, result.mistakes);
  read_fields(document, fields, read, result.mistakes);
  check_rules(read, result.mistakes);
  if (!result.mistakes.empty())
    return result;
  resolve_paths(fields, base_folder, read);
  result.value = std::move(read);
  return result;
}

json to_json(const job& in) {
  job copy = in;
  json out = json::object();
  std::vector<job_field> fields =
      job_fields({in.data.test.has_value(), in.data.pipeline.size()});
  out["data"]["pipeline"] = json::array();
  for (size_t i = 0; i < in.data.pipeline.size(); ++i)
    out["data"]["pipeline"].push_back(json::object());
  for (const job_field& field : fields)
    if (applies(field, fields, out))
      out[json::json_pointer(field.pointer)] = load_value(field, copy);
  return out;
}

} // namespace ballast
