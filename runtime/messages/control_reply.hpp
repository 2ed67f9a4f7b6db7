/// What the coordinator answers to a control request, as values. JSON and HTTP
/// status are written at the edge, see control.hpp.
#pragma once

#include "runtime/base/errors.hpp"

#include <nlohmann/json.hpp>
#include <string>
#include <variant>

namespace ballast {

/// Nothing is to be said but that it is done.
struct request_done {};
/// The job is a run now.
struct run_begun {
  std::string name;
  std::string folder;
};
/// What holds from now on.
struct balance_set {
  bool enabled = true;
  double skew_tv = 0;
};
/// The document of GET /v1/status.
struct status_shown {
  nlohmann::json status;
};
/// Fields that explain the balance: of a worker, a chunk, or a plan.
struct balance_explained {
  nlohmann::json fields;
};

using control_answer = std::variant<request_done, run_begun, balance_set,
                                    status_shown, balance_explained>;

struct control_reply {
  failure refused; // then `answer` says nothing
  control_answer answer;
};

} // namespace ballast
