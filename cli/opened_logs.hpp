/// The logs that the workers of a supervisor open in the run directory. A run
/// that never began must leave nothing: the coordinator removes its files, but
/// a starting worker opens its log at any time. The supervisor therefore
/// removes the logs last, by name, once every worker has ended.
#pragma once

#include <string>
#include <vector>

namespace ballast::cli {

class opened_logs {
public:
  /// Construct before there is a coordinator. `run_dir` may be absent, or "":
  /// then the coordinator creates one.
  explicit opened_logs(const std::string& run_dir);
  /// Call before the worker is started that opens `log`.
  void opening(const std::string& log);
  /// Removes the logs that did not exist before, and the folders that are then
  /// empty, if this run created them.
  void remove() const;

private:
  bool folder_was_there_;
  std::vector<std::string> made_;
};

} // namespace ballast::cli
