/// What a user or a program may ask of a running coordinator by POST
/// /v1/control: one struct for each type of message, with its name, its meaning
/// and its keys beside it. All else follows from that: parsing and its errors,
/// the JSON Schema, the list of types in help texts. Plain values; nothing here
/// knows JSON.
///
/// Keys are checked for their type only (`worker` is a text); whether there is
/// such a worker is for the coordinator to say.
#pragma once

#include "runtime/job/job.hpp"
#include "runtime/messages/fault_request.hpp"
#include "runtime/messages/request_keys.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ballast {

struct submit_request {
  static constexpr const char* type = "submit";
  static constexpr const char* doc =
      "Runs a job; refused as busy while another one runs.";
  job what;
  static std::vector<field> keys() {
    return request_keys<submit_request>().must("job", &submit_request::what,
                                               "The job, its paths absolute.");
  }
};

struct status_request {
  static constexpr const char* type = "status";
  static constexpr const char* doc =
      "The state of the run, as GET /v1/status gives it.";
  static std::vector<field> keys() { return {}; }
};

struct pause_request {
  static constexpr const char* type = "pause";
  static constexpr const char* doc =
      "Holds after a step that all workers agree on.";
  static std::vector<field> keys() { return {}; }
};

struct resume_request {
  static constexpr const char* type = "resume";
  static constexpr const char* doc = "Goes on after a pause.";
  static std::vector<field> keys() { return {}; }
};

struct stop_request {
  static constexpr const char* type = "stop";
  static constexpr const char* doc =
      "Finishes the step in flight, writes model and report, and ends.";
  static std::vector<field> keys() { return {}; }
};

struct checkpoint_request {
  static constexpr const char* type = "checkpoint";
  static constexpr const char* doc = "Writes a checkpoint of the next step.";
  static std::vector<field> keys() { return {}; }
};

struct scale_request {
  static constexpr const char* type = "scale";
  static constexpr const char* doc =
      "Keeps so many workers: starts some, or lets some leave. Refused where "
      "nobody can start workers.";
  uint64_t workers = 0;
  static std::vector<field> keys() {
    return request_keys<scale_request>().must(
        "workers", &scale_request::workers, "How many.");
  }
};

struct drain_request {
  static constexpr const char* type = "drain_worker";
  static constexpr const char* doc =
      "Its data first, then the switch; then its process ends.";
  std::string worker;
  static std::vector<field> keys() {
    return request_keys<drain_request>().must("worker", &drain_request::worker,
                                              "Its name.");
  }
};

struct evict_request {
  static constexpr const char* type = "evict_worker";
  static constexpr const char* doc =
      "Out at once, as if it had failed; it may come back as a new worker.";
  std::string worker;
  static std::vector<field> keys() {
    return request_keys<evict_request>().must("worker", &evict_request::worker,
                                              "Its name.");
  }
};

struct balance_request {
  static constexpr const char* type = "set_balance";
  static constexpr const char* doc =
      "Changes how the data are kept balanced; what is not given stays.";
  std::optional<bool> enabled;
  std::optional<double> skew_tv;
  static std::vector<field> keys() {
    return request_keys<balance_request>()
        .may("enabled", &balance_request::enabled,
             "Whether anything is moved at all.")
        .may("skew_tv", &balance_request::skew_tv,
             "Label skew that is good enough, from 0 to 1, as total variation "
             "distance.");
  }
};

struct plan_request {
  static constexpr const char* type = "plan";
  static constexpr const char* doc =
      "A dry run: what balancing would do now, were every limit of patience "
      "lifted; what that would bring, and what speaks against it.";
  bool certificate = false;
  static std::vector<field> keys() {
    return request_keys<plan_request>().may(
        "certificate", &plan_request::certificate,
        "Also what proves that no fewer rows lead there.");
  }
};

struct explain_request {
  static constexpr const char* type = "explain";
  static constexpr const char* doc =
      "Why a worker, or a chunk, is treated as it is: one of the two.";
  std::optional<std::string> worker;
  std::optional<uint64_t> chunk;
  static std::vector<field> keys() {
    return request_keys<explain_request>()
        .may("worker", &explain_request::worker, "Its name.")
        .may("chunk", &explain_request::chunk, "Its number.");
  }
};

struct note_request {
  static constexpr const char* type = "note";
  static constexpr const char* doc =
      "Writes a line into the history of the run: what was done to it, and "
      "why. Events, page and dashboards show it.";
  std::string text;
  static std::vector<field> keys() {
    return request_keys<note_request>().must(
        "text", &note_request::text, "The line, of 1 to 500 characters.");
  }
};

/// Every type of message, in the order of help texts and schema.
using control_request =
    std::variant<submit_request, status_request, pause_request, resume_request,
                 stop_request, checkpoint_request, scale_request, drain_request,
                 evict_request, balance_request, plan_request, explain_request,
                 note_request, slow_request, stall_request, damage_request,
                 flip_request, kill_request>;

} // namespace ballast
