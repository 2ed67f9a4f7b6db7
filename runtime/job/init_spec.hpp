/// `init` of a job: what it begins with instead of parameters that its seed
/// makes. Plain data.
#pragma once

#include <string>
#include <vector>

namespace ballast {

struct init_spec {
  /// A model's file, or a run's folder with "@STEP", "@best" or nothing behind
  /// it; empty: as model.init says.
  std::string from;
  bool optimizer = false;          // its state as well, of a checkpoint
  std::vector<std::string> except; // parameters that are made anew, by pattern
  std::vector<std::string> freeze; // parameters that stay as they are, likewise
};

} // namespace ballast
