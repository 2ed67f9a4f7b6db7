/// What the coordinator's core answers, beside the actions that follow.
#pragma once

#include "runtime/coordinator/actions.hpp"

#include <optional>

namespace ballast {

struct hello_answer {
  std::optional<welcome> accepted;
  failure refused;
  actions then;
};

/// To a job, a request to go on with a run, or any other request.
struct request_answer {
  failure refused;
  actions then;
};

} // namespace ballast
