/// How the test part is judged: a part of the job. Plain value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ballast {

struct evaluate_spec {
  /// Words of the catalogue (runtime/metrics/metric_catalogue.hpp); empty: the
  /// usual ones of the task.
  std::vector<std::string> metrics;
  /// Steps from one evaluation to the next; none: at the end of each epoch.
  std::optional<uint64_t> every;
};

} // namespace ballast
