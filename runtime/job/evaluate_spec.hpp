/// How the test part is judged: a part of the job. Plain value.
#pragma once

#include <string>
#include <vector>

namespace ballast {

struct evaluate_spec {
  /// Words of the catalogue (runtime/metrics/metric_catalogue.hpp); empty: the
  /// usual ones of the task.
  std::vector<std::string> metrics;
};

} // namespace ballast
