/// JSON Schema (2020-12) of one field.
#include "runtime/job/field.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace ballast {

namespace {

using nlohmann::json;

json scalar_schema(const field& of) {
  const json_kind type = json_type(of, true);
  json out = {{"type", to_string(type)}};
  if (is_nullable(of))
    out["type"] = {to_string(type), "null"};
  if (type == json_kind::integer || type == json_kind::number) {
    const field_range& r = of.range;
    out[r.low_excluded ? "exclusiveMinimum" : "minimum"] = r.low;
    if (!std::isinf(r.high))
      out[r.high_excluded ? "exclusiveMaximum" : "maximum"] = r.high;
  }
  if (type == json_kind::integer)
    for (const char* bound : {"minimum", "maximum"})
      if (out.contains(bound))
        out[bound] = int64_t(out[bound].get<double>());
  if (type != json_kind::string)
    return out;
  if (of.text == text_kind::name)
    out["pattern"] = "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$";
  else if (of.text == text_kind::path_or_word)
    out["anyOf"] = {{{"enum", of.allowed}}, {{"pattern", ".\\.safetensors$"}}};
  else if (!of.allowed.empty())
    out["enum"] = of.allowed;
  else
    out.update({{"minLength", may_be_empty(of) ? 0 : 1}, {"maxLength", 4096}});
  return out;
}

} // namespace

json field_schema(const field& of) {
  if (of.type_only)
    return {{"type", to_string(json_type(of))}, {"description", of.doc}};
  json out = scalar_schema(of);
  if (json_type(of) == json_kind::object) {
    if (!of.json_values)
      out["additionalProperties"] = {{"type", "string"}};
    if (!of.allowed.empty())
      out["additionalProperties"]["enum"] = of.allowed;
    out["minProperties"] = of.items_min;
  }
  const json one = out;
  for (int depth = is_table(of)                        ? 2
                   : json_type(of) == json_kind::array ? 1
                                                       : 0;
       depth > 0; --depth)
    out = {{"type", "array"},
           {"items", std::move(out)},
           {"minItems", of.items_min},
           {"maxItems", of.items_max}};
  if (of.one_or_list)
    out = {{"anyOf", {one, out}}};
  if (has_word(of))
    out = {{"anyOf", {{{"const", of.allowed[0]}}, out}}};
  out["description"] = of.doc;
  if (!of.required)
    out["default"] = default_of(of);
  return out;
}

} // namespace ballast
