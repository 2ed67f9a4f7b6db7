#include "cli/opened_logs.hpp"

#include <filesystem>
#include <system_error>

namespace ballast::cli {

namespace fs = std::filesystem;

namespace {

bool is_there(const std::string& path) {
  std::error_code ignored;
  return !path.empty() && fs::exists(path, ignored);
}

} // namespace

opened_logs::opened_logs(const std::string& run_dir)
    : folder_was_there_(is_there(run_dir)) {}

void opened_logs::opening(const std::string& log) {
  if (!is_there(log))
    made_.push_back(log);
}

void opened_logs::remove() const {
  std::error_code ignored;
  for (const std::string& log : made_) {
    const fs::path logs = fs::path(log).parent_path();
    fs::remove(log, ignored);
    fs::remove(logs, ignored); // fails if the folder has content
    if (!folder_was_there_)
      fs::remove(logs.parent_path(), ignored);
  }
}

} // namespace ballast::cli
