/// The JSON of control messages and of their replies, for the edge of the
/// process: requests are read once, where they arrive, and travel as values
/// (control_request.hpp) from there on. Pure functions; errors are values.
#pragma once

#include "runtime/base/errors.hpp"
#include "runtime/messages/control_reply.hpp"
#include "runtime/messages/control_request.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace ballast {

struct control_message {
  std::string id; // chosen by the sender, comes back in the reply
  control_request request;
};

/// Either a message, or why it is none: `refused` has the JSON pointer. `id`
/// as far as it could be read, for the reply.
struct control_result {
  std::optional<control_message> value;
  failure refused;
  std::string id;
};

/// Reads one message. Bodies over 1 MiB, bad JSON, other versions, unknown
/// types and keys are refused as bad_request; the job of a submit as parse_job
/// refuses it.
control_result parse_control(const std::string& text);

/// In the order of control_request, for help texts.
std::vector<std::string> control_types();

/// The body of a reply, and the HTTP status that goes with it.
struct control_response {
  int status = 200;
  std::string body;
};
control_response make_response(const std::string& id,
                               const control_reply& reply);

/// Bodies of replies. Keys of `extra` (an object) are added beside `ok`.
std::string make_reply_ok(const std::string& id,
                          const nlohmann::json& extra = nullptr);
std::string make_reply_error(const std::string& id, const failure& why);
/// The HTTP status that goes with it: always 4xx.
int http_status(const failure& why);

/// JSON Schema (2020-12) of the messages.
nlohmann::json control_schema();
/// The document of GET /v1/schema: {"job": .., "control": ..}.
nlohmann::json api_schema();

} // namespace ballast
