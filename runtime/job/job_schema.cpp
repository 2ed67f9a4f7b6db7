/// Writes the JSON Schema (2020-12) of the job from the table of fields.
#include "runtime/job/job_field.hpp"

#include <map>
#include <nlohmann/json.hpp>

namespace ballast {

namespace {

using nlohmann::json;

/// The form with every optional part; one item stands for a list, a star for
/// any key.
const job_form full_form{true, 1, {"*"}, 1, 1};

/// Holds where the field's selector has one of the values it asks for.
json selected(const job_field& field, const std::vector<job_field>& fields) {
  json test = {{"properties", {{field.when, {{"enum", field.when_is}}}}}};
  std::string selector = parent_of(field.pointer) + "/" + field.when;
  for (const job_field& other : fields)
    if (other.pointer == selector) {
      json usual = other.required ? json() : default_of(other);
      bool by_default = false;
      for (const std::string& word : field.when_is)
        by_default = by_default || usual == json(word);
      if (!by_default)
        test["required"] = {field.when};
    }
  return test;
}

/// The format of what a graph gives.
bool is_implied(const job_field& field) {
  return field.pointer == "/data/train/format" ||
         field.pointer == "/data/test/format";
}

/// One object: its fields, and which of them depend on which selector.
class object_schema {
public:
  explicit object_schema(const std::vector<job_field>& fields)
      : fields_(fields) {}

  void add(const job_field& field) {
    std::string key = key_of(field.pointer);
    variants_[key].push_back(field_schema(field));
    if (field.required && field.when.empty() && !is_implied(field))
      out_["required"].push_back(key);
    if (is_implied(field))
      out_["anyOf"] = {{{"required", {key}}}, {{"required", {"from"}}}};
    if (!field.without.empty())
      out_["dependentSchemas"][key] = {
          {"properties", {{field.without, false}}}};
    if (field.when.empty())
      return;
    json test = selected(field, fields_);
    places_[key].push_back(test);
    json then = {{"properties", {{key, field_schema(field)}}}};
    then["properties"][key].erase("description");
    then["properties"][key].erase("default");
    if (field.required)
      then["required"] = {key};
    out_["allOf"].push_back({{"if", test}, {"then", then}});
  }

  void add(const std::string& key, json schema) {
    variants_[key].push_back(std::move(schema));
  }
  void require(const std::string& key) { out_["required"].push_back(key); }

  json finish() {
    out_["type"] = "object";
    out_["additionalProperties"] = false;
    for (auto& [key, schemas] : variants_)
      out_["properties"][key] =
          schemas.size() == 1 ? schemas[0] : json{{"anyOf", schemas}};
    for (auto& [key, tests] : places_)
      out_["dependentSchemas"][key] =
          tests.size() == 1 ? tests[0] : json{{"anyOf", tests}};
    return out_;
  }

private:
  const std::vector<job_field>& fields_;
  json out_ = json::object();
  std::map<std::string, std::vector<json>> variants_;
  std::map<std::string, std::vector<json>> places_;
};

/// Nests each object into its parent.
json nest(std::map<std::string, object_schema>& objects) {
  // Longest pointers first, so that children come before their parents.
  while (objects.size() > 1) {
    auto deepest = objects.begin();
    for (auto it = objects.begin(); it != objects.end(); ++it)
      if (it->first.size() > deepest->first.size())
        deepest = it;
    std::string pointer = deepest->first;
    json schema = deepest->second.finish();
    objects.erase(deepest);
    std::string key = key_of(pointer);
    if (key == "0") { // an item of a list
      pointer = parent_of(pointer);
      key = key_of(pointer);
      schema = {{"type", "array"},
                {"items", schema},
                {"maxItems", 256},
                {"default", json::array()}};
    }
    if (key == "*") { // by any name
      pointer = parent_of(pointer);
      key = key_of(pointer);
      schema = {{"type", "object"},
                {"additionalProperties", schema},
                {"propertyNames",
                 {{"pattern", "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$"}}},
                {"maxProperties", 64}};
    }
    object_schema& parent = objects.at(parent_of(pointer));
    // Only data.train and model have required fields.
    if (pointer == "/data/train" || pointer == "/data" || pointer == "/model")
      parent.require(key);
    parent.add(key, std::move(schema));
  }
  return objects.begin()->second.finish();
}

} // namespace

json job_schema() {
  std::vector<job_field> fields = job_fields(full_form);
  std::map<std::string, object_schema> objects;
  for (const job_field& field : fields) {
    for (std::string at = parent_of(field.pointer);; at = parent_of(at)) {
      objects.try_emplace(at, fields);
      if (at.empty())
        break;
    }
    objects.at(parent_of(field.pointer)).add(field);
  }
  for (const char* list : {"/data/pipeline", "/data/graph", "/data/augment"})
    objects.erase(list); // a list, not an object
  objects.erase("/data/sources");
  json out = nest(objects);
  out["$schema"] = "https://json-schema.org/draft/2020-12/schema";
  out["title"] = "Ballast job";
  // No field of the job: where an editor finds this schema.
  out["properties"]["$schema"] = {
      {"type", "string"},
      {"description", "Where the JSON Schema of jobs lies, for editors."}};
  return out;
}

} // namespace ballast
