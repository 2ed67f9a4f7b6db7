/// The logs that the workers of a supervisor open in the directory of their
/// run. A run that never began leaves nothing: the coordinator removes what it
/// wrote, but a worker that is only starting opens its log whenever it gets
/// there. So these go last, by name, once every worker has ended.
#pragma once

#include <string>
#include <vector>

namespace ballast {

class opened_logs {
public:
  /// Before there is a coordinator. `run_dir` may be absent, or "": then the
  /// coordinator makes one.
  explicit opened_logs(const std::string& run_dir);
  /// Before the worker is started that opens `log`.
  void opening(const std::string& log);
  /// Removes those that were not there before, and the folders that are empty
  /// without them, if this run made them.
  void remove() const;

private:
  bool folder_was_there_;
  std::vector<std::string> made_;
};

} // namespace ballast
