/// Which samples a worker feeds to the gradient, one line a step, for jobs that
/// say trace_samples. Used by the step thread.
#pragma once

#include "runtime/messages/messages.hpp"
#include "runtime/worker/worker_core.hpp"
#include "store/line_file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ballast::actors {

class sample_trace {
public:
  /// In the run directory, which must be reachable from here: throws
  /// ballast_error{not_in_build} if not. If the disk has no room for the file
  /// now, write() opens it.
  explicit sample_trace(const assignment& order);
  /// Throws ballast_error{disk_full}.
  void write(const worker::step_order& order, const std::vector<uint64_t>& ids);

private:
  std::filesystem::path path_;
  std::optional<store::line_file> file_;
  std::string line_;
};

} // namespace ballast::actors
