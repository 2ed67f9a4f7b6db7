#include "cli/supervisor.hpp"

namespace ballast {

int run_supervised(const run_options& options) {
  throw ballast_error(errc::not_in_build,
                      options.job_path +
                          " is valid, but running it is not in this build");
}

} // namespace ballast
