/// Control messages: what a user or a program may ask of a running coordinator
/// by POST /v1/control, as plain structs, and their JSON codec. The description
/// of the types in control.cpp is the one source of parsing and schema.
/// Pure functions; errors are values.
#pragma once

#include "runtime/base/errors.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ballast {

/// Run this job. Refused as busy while another one runs.
struct submit_request {
  nlohmann::json job; // as in a job file; paths absolute
};
/// The same as GET /v1/status.
struct status_request {};
/// Hold after a step that all workers agree on.
struct pause_request {};
struct resume_request {};
/// Write a checkpoint of the next step.
struct checkpoint_request {};
/// Finish the step in flight, write model and report, end.
struct stop_request {};

/// Keep so many workers: start some, or let some leave.
struct scale_request {
  uint64_t workers = 0;
};
/// Its data first, then the switch; then its process ends.
struct drain_request {
  std::string worker;
};
/// Out at once, as if it had failed; it may come back as a new worker.
struct evict_request {
  std::string worker;
};
/// What is given replaces what was.
struct balance_request {
  std::optional<bool> enabled;
  std::optional<double> skew_tv;
};
/// What balancing would do now, were every limit of patience lifted.
struct plan_request {
  bool certificate = false; // and a proof of the bound
};
/// Why a worker, or a chunk, is treated as it is: one of the two.
struct explain_request {
  std::optional<std::string> worker;
  std::optional<uint64_t> chunk;
};
// Faults on purpose, for jobs that allow them:
struct kill_request {
  std::string worker;
};
struct slow_request {
  std::string worker;
  double factor = 1;
};
struct stall_request {
  std::string worker;
  double seconds = 0;
};
struct damage_request {
  std::string worker;
  uint64_t chunks = 0;
};

using control_request =
    std::variant<submit_request, status_request, pause_request, resume_request,
                 checkpoint_request, stop_request, scale_request, drain_request,
                 evict_request, balance_request, plan_request, explain_request,
                 kill_request, slow_request, stall_request, damage_request>;

struct control_message {
  std::string id; // chosen by the sender, comes back in the reply
  control_request what;
};

/// Either a message, or why it is none: `refused` has the JSON pointer. `id`
/// as far as it could be read, for the reply.
struct control_result {
  std::optional<control_message> value;
  failure refused;
  std::string id;
};

/// Reads one message. Bodies over 1 MiB, bad JSON, other versions, unknown
/// types and keys are refused as bad_request.
control_result parse_control(const std::string& text);

/// For help texts.
std::vector<std::string> control_types();

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
