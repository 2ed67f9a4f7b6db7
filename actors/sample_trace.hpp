/// Which samples a worker was given in each step, one line each, for jobs that
/// say trace_samples; with importance sampling also which of them it used for
/// the gradient. Used by the step thread.
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
  /// `used`: empty if all are. Throws ballast_error{disk_full}.
  void write(const worker::step_order& order, const std::vector<uint64_t>& ids,
             const std::vector<uint64_t>& used);

private:
  std::filesystem::path path_;
  std::optional<store::line_file> file_;
  std::string line_;
};

} // namespace ballast::actors
