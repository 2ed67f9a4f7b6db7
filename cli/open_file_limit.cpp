#include "cli/open_file_limit.hpp"

#include "runtime/base/errors.hpp"
#include "runtime/base/open_files.hpp"

#include <sys/resource.h>

namespace ballast::cli {

void need_open_files(uint32_t workers) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return;
  if (limit.rlim_cur < limit.rlim_max) {
    rlimit raised{limit.rlim_max, limit.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0)
      limit = raised;
  }
  if (std::string why = open_files_problem(limit.rlim_cur, workers);
      !why.empty())
    throw ballast_error(errc::usage, why);
}

} // namespace ballast::cli
