#include "runtime/messages/control.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/job/field_document.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/job_text.hpp"

#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <vector>

namespace ballast {

namespace {

using nlohmann::json;

constexpr size_t id_bytes_max = 256;

/// One type of message.
struct control_type {
  std::string name;
  std::string doc;
  std::vector<field> keys;
  /// Reads the keys; the request means nothing if there are mistakes.
  control_request (*read)(const control_type& type, const json& message,
                          std::vector<failure>& mistakes);
};

const document_kind control_head{.name = "control message",
                                 .mistake = errc::bad_request,
                                 .also = {"/version", "/id", "/type"},
                                 .lists = {},
                                 .place = {},
                                 .quotes_keys = true};

template <class Request>
control_type type_of() {
  return {Request::type, Request::doc, Request::keys(),
          [](const control_type& type, const json& message,
             std::vector<failure>& mistakes) -> control_request {
            document_kind kind = control_head;
            kind.place = " in \"" + type.name + "\"";
            Request out;
            mistakes = read_document(kind, message, type.keys, out);
            return out;
          }};
}

/// Those of the variant, all and in its order.
template <class... Requests>
std::vector<control_type>
types_of(std::type_identity<std::variant<Requests...>>) {
  return {type_of<Requests>()...};
}

const std::vector<control_type>& all_types() {
  static const std::vector<control_type> types =
      types_of(std::type_identity<control_request>());
  return types;
}

failure bad(const std::string& pointer, const std::string& why) {
  return {errc::bad_request, pointer + ": " + why, pointer};
}

failure check_head(const json& message) {
  if (!message.is_object())
    return wrong_type(control_head, "", "an object", message);
  if (!message.contains("version"))
    return bad("/version", "is required: 1");
  if (message["version"] != 1)
    return wrong_type(control_head, "/version", "1", message["version"]);
  if (message.contains("id")) {
    const json& id = message["id"];
    if (!id.is_string() ||
        id.get_ref<const std::string&>().size() > id_bytes_max)
      return wrong_type(control_head, "/id", "a text of at most 256 bytes", id);
  }
  return {};
}

failure find_type(const json& message, const control_type*& found) {
  const std::string expected = "one of " + quoted_list(control_types());
  if (!message.contains("type"))
    return bad("/type", "is required: " + expected);
  const json& type = message["type"];
  for (const control_type& known : all_types())
    if (type == json(known.name))
      found = &known;
  if (found != nullptr)
    return {};
  failure out = wrong_type(control_head, "/type", expected, type);
  if (type.is_string())
    out.message += did_you_mean(type.get<std::string>(), control_types());
  return out;
}

/// What stands beside "ok" in a reply.
json fields_of(const request_done&) {
  return json::object();
}
json fields_of(const run_begun& run) {
  return {{"run", run.name}, {"run_dir", run.folder}};
}
json fields_of(const balance_set& now) {
  return {{"enabled", now.enabled}, {"skew_tv", now.skew_tv}};
}
json fields_of(const status_shown& shown) {
  return {{"status", shown.status}};
}
json fields_of(const balance_explained& explained) {
  return explained.fields;
}

} // namespace

control_result parse_control(const std::string& text) {
  control_result result;
  json message;
  result.refused =
      read_json_text(text, errc::bad_request, "control message", message);
  if (result.refused)
    return result;
  result.refused = check_head(message);
  if (result.refused)
    return result;
  result.id = message.value("id", "");
  const control_type* type = nullptr;
  result.refused = find_type(message, type);
  if (result.refused)
    return result;
  std::vector<failure> mistakes;
  control_request request = type->read(*type, message, mistakes);
  if (mistakes.empty())
    result.value = control_message{result.id, std::move(request)};
  else
    result.refused = std::move(mistakes.front());
  return result;
}

std::vector<std::string> control_types() {
  std::vector<std::string> out;
  for (const control_type& type : all_types())
    out.push_back(type.name);
  return out;
}

control_response make_response(const std::string& id,
                               const control_reply& reply) {
  if (reply.refused)
    return {http_status(reply.refused), make_reply_error(id, reply.refused)};
  const json fields = std::visit(
      [](const auto& answer) { return fields_of(answer); }, reply.answer);
  return {200, make_reply_ok(id, fields)};
}

std::string make_reply_ok(const std::string& id, const json& extra) {
  json reply = {{"version", 1}, {"id", id}, {"ok", true}};
  if (extra.is_object())
    for (const auto& [key, value] : extra.items())
      if (!reply.contains(key))
        reply[key] = value;
  return json_text(reply);
}

std::string make_reply_error(const std::string& id, const failure& why) {
  json error = {{"code", to_string(why.code)}, {"message", why.message}};
  if (!why.pointer.empty())
    error["pointer"] = why.pointer;
  json reply = {{"version", 1}, {"id", id}, {"ok", false}, {"error", error}};
  return json_text(reply);
}

int http_status(const failure& why) {
  switch (why.code) {
  case errc::busy:
  case errc::unreachable: // not yet
    return 409;
  case errc::unknown_worker:
    return 404;
  case errc::invalid_job:
  case errc::invalid_data:
  case errc::not_in_build:
    return 422;
  default:
    return 400;
  }
}

json control_schema() {
  json choices = json::array();
  for (const control_type& type : all_types()) {
    json properties = {
        {"version", {{"const", 1}}},
        {"id", {{"type", "string"}, {"maxLength", id_bytes_max}}},
        {"type", {{"const", type.name}}}};
    json required = {"version", "type"};
    for (const field& key : type.keys) {
      properties[key_of(key.pointer)] = field_schema(key);
      if (key.required)
        required.push_back(key_of(key.pointer));
    }
    choices.push_back({{"title", type.name},
                       {"description", type.doc},
                       {"type", "object"},
                       {"properties", properties},
                       {"required", required},
                       {"additionalProperties", false}});
  }
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "Ballast control message"},
          {"oneOf", choices}};
}

json api_schema() {
  return {{"job", job_schema()}, {"control", control_schema()}};
}

} // namespace ballast
