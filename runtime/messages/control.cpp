#include "runtime/messages/control.hpp"

#include "runtime/base/json_text.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/job_text.hpp"

#include <algorithm>

namespace ballast {

namespace {

using nlohmann::json;

constexpr size_t id_bytes_max = 256;

struct control_key {
  std::string name;
  std::string type; // as JSON Schema calls it
  std::string doc;
  bool required = true;
};

/// One type of message.
struct control_type {
  std::string name;
  std::string doc;
  std::vector<control_key> keys;
  control_request (*make)(const json& message) = nullptr;
};

const std::vector<control_type>& all_types() {
  static const std::vector<control_type> types = {
      {"submit",
       "Runs a job; refused as busy while another one runs.",
       {{"job", "object", "The job, its paths absolute."}},
       [](const json& m) -> control_request {
         return submit_request{m.at("job")};
       }},
      {"status",
       "The state of the run, as GET /v1/status gives it.",
       {},
       [](const json&) -> control_request { return status_request{}; }},
      {"pause",
       "Holds after a step that all workers agree on.",
       {},
       [](const json&) -> control_request { return pause_request{}; }},
      {"resume",
       "Goes on after a pause.",
       {},
       [](const json&) -> control_request { return resume_request{}; }},
      {"stop",
       "Finishes the step in flight, writes model and report, and ends.",
       {},
       [](const json&) -> control_request { return stop_request{}; }},
      {"checkpoint",
       "Writes a checkpoint of the next step.",
       {},
       [](const json&) -> control_request { return checkpoint_request{}; }},
      {"scale",
       "Keeps so many workers: starts some, or lets some leave. Refused where "
       "nobody can start workers.",
       {{"workers", "integer", "How many."}},
       [](const json& m) -> control_request {
         return scale_request{m.at("workers")};
       }},
      {"drain_worker",
       "Its data first, then the switch; then its process ends.",
       {{"worker", "string", "Its name."}},
       [](const json& m) -> control_request {
         return drain_request{m.at("worker")};
       }},
      {"evict_worker",
       "Out at once, as if it had failed; it may come back as a new worker.",
       {{"worker", "string", "Its name."}},
       [](const json& m) -> control_request {
         return evict_request{m.at("worker")};
       }},
      {"set_balance",
       "Changes how the data are kept balanced; what is not given stays.",
       {{"enabled", "boolean", "Whether anything is moved at all.", false},
        {"skew_tv", "number",
         "Label skew that is good enough, from 0 to 1, as total variation "
         "distance.",
         false}},
       [](const json& m) -> control_request {
         balance_request out;
         if (m.contains("enabled"))
           out.enabled = m["enabled"].get<bool>();
         if (m.contains("skew_tv"))
           out.skew_tv = m["skew_tv"].get<double>();
         return out;
       }},
      {"plan",
       "A dry run: what balancing would do now, were every limit of patience "
       "lifted; what that would bring, and what speaks against it.",
       {{"certificate", "boolean",
         "Also what proves that no fewer rows lead there.", false}},
       [](const json& m) -> control_request {
         return plan_request{m.value("certificate", false)};
       }},
      {"explain",
       "Why a worker, or a chunk, is treated as it is: one of the two.",
       {{"worker", "string", "Its name.", false},
        {"chunk", "integer", "Its number.", false}},
       [](const json& m) -> control_request {
         explain_request out;
         if (m.contains("worker"))
           out.worker = m["worker"].get<std::string>();
         if (m.contains("chunk"))
           out.chunk = m["chunk"].get<uint64_t>();
         return out;
       }},
      {"slow_worker",
       "Its compute takes so many times as long from now on, 1 = as it is; for "
       "jobs with \"faults\": true.",
       {{"worker", "string", "Its name."},
        {"factor", "number", "From 1 to 1000."}},
       [](const json& m) -> control_request {
         return slow_request{m.at("worker"), m.at("factor")};
       }},
      {"stall_worker",
       "Its process stands still for a while, heartbeats and all; for jobs "
       "with \"faults\": true.",
       {{"worker", "string", "Its name."},
        {"seconds", "number", "How long; up to 600."}},
       [](const json& m) -> control_request {
         return stall_request{m.at("worker"), m.at("seconds")};
       }},
      {"damage_chunks",
       "It serves so many chunks with a flipped byte from now on, 0 = none; "
       "for jobs with \"faults\": true.",
       {{"worker", "string", "Its name."},
        {"chunks", "integer", "Up to 1000000."}},
       [](const json& m) -> control_request {
         return damage_request{m.at("worker"), m.at("chunks")};
       }},
      {"kill_worker",
       "Its process ends as by kill -9; for jobs with \"faults\": true.",
       {{"worker", "string", "Its name."}},
       [](const json& m) -> control_request {
         return kill_request{m.at("worker")};
       }},
  };
  return types;
}

std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words)
    out += (out.empty() ? "\"" : ", \"") + word + "\"";
  return out;
}

failure bad(const std::string& pointer, const std::string& why) {
  constexpr size_t shown_max = 200;
  return {
      errc::bad_request,
      (pointer.empty() ? "control message" : printable(pointer, shown_max)) +
          ": " + why,
      pointer};
}

failure check_head(const json& message) {
  if (!message.is_object())
    return bad("", "expected an object, found " + quote_value(message));
  if (!message.contains("version"))
    return bad("/version", "is required: 1");
  if (message["version"] != 1)
    return bad("/version",
               "expected 1, found " + quote_value(message["version"]));
  if (message.contains("id")) {
    const json& id = message["id"];
    if (!id.is_string() ||
        id.get_ref<const std::string&>().size() > id_bytes_max)
      return bad("/id", "expected a text of at most 256 bytes, found " +
                            quote_value(id));
  }
  return {};
}

failure find_type(const json& message, const control_type*& found) {
  if (!message.contains("type"))
    return bad("/type", "is required: one of " + listed(control_types()));
  const json& type = message["type"];
  for (const control_type& known : all_types())
    if (type == json(known.name))
      found = &known;
  if (found != nullptr)
    return {};
  std::string why = "expected one of " + listed(control_types()) + ", found " +
                    quote_value(type);
  if (type.is_string())
    if (std::string near =
            nearest_word(type.get<std::string>(), control_types());
        !near.empty())
      why += "; did you mean \"" + near + "\"?";
  return bad("/type", why);
}

bool has_type(const json& value, const std::string& type) {
  if (type == "object")
    return value.is_object();
  if (type == "integer")
    return value.is_number_unsigned();
  if (type == "boolean")
    return value.is_boolean();
  if (type == "number")
    return value.is_number();
  return type == "string" && value.is_string();
}

failure check_keys(const json& message, const control_type& type) {
  std::vector<std::string> known = {"version", "id", "type"};
  for (const control_key& key : type.keys) {
    known.push_back(key.name);
    std::string pointer = "/" + key.name;
    if (!message.contains(key.name) && !key.required)
      continue;
    if (!message.contains(key.name))
      return bad(pointer, "is required in \"" + type.name + "\"");
    if (!has_type(message[key.name], key.type))
      return bad(pointer, "expected a value of type " + key.type + ", found " +
                              quote_value(message[key.name]));
  }
  for (const auto& [key, value] : message.items()) {
    if (std::count(known.begin(), known.end(), key) > 0)
      continue;
    std::string why = "unknown key in \"" + type.name + "\"";
    std::string near = nearest_word(key, known);
    why += near.empty() ? "; known here: " + listed(known)
                        : "; did you mean \"" + near + "\"?";
    json pointer = json::object({{key, nullptr}});
    return bad(pointer.flatten().begin().key(), why);
  }
  return {};
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
  if (!result.refused)
    result.refused = check_keys(message, *type);
  if (!result.refused)
    result.value = control_message{result.id, type->make(message)};
  return result;
}

std::vector<std::string> control_types() {
  std::vector<std::string> out;
  for (const control_type& type : all_types())
    out.push_back(type.name);
  return out;
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
    for (const control_key& key : type.keys) {
      properties[key.name] = {{"type", key.type}, {"description", key.doc}};
      if (key.required)
        required.push_back(key.name);
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
