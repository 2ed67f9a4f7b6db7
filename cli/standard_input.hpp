/// A run whose rows come by standard input: they are kept before it begins,
/// because the coordinator, and whoever goes on with the run, reads a file. One
/// thread, once in a process.
#pragma once

#include "runtime/job/job.hpp"

namespace ballast::cli {

/// `what` names the file in which they are kept from now on; without such a
/// source it stays as it is. Returns an exit code: 0, or that of what was said
/// on stderr.
int keep_standard_input(job& what);

} // namespace ballast::cli
