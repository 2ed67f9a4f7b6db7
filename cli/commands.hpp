/// The commands of the thin program. Each returns the exit code and throws
/// ballast_error, whose reason main prints.
#pragma once

#include "runtime/job/job.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast::cli {

/// Reads and checks a job file; relative paths are taken from its folder.
/// Throws job_refused.
job load_job(const std::string& path, const std::vector<std::string>& sets);

/// Every mistake in a job file, in the order of the fields.
class job_refused : public std::runtime_error {
public:
  job_refused(const std::string& path, std::vector<failure> found)
      : std::runtime_error(path), mistakes(std::move(found)) {}
  std::vector<failure> mistakes;
};

int validate_command(const std::string& path,
                     const std::vector<std::string>& sets, bool json);
/// Its data, too.
int validate_data_command(const std::string& path,
                          const std::vector<std::string>& sets, bool json);
int status_command(const std::string& to, bool json);
/// `pairs`: key=value; the value is JSON, or else text. The answer to `plan`
/// and `explain` is told in words unless `json`; the latter of all workers
/// where nothing is named.
int control_command(const std::string& to, const std::string& type,
                    const std::vector<std::string>& pairs, bool json);
int submit_command(const std::string& to, const std::string& path,
                   const std::vector<std::string>& sets, bool wait);

} // namespace ballast::cli
