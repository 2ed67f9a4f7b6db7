/// Reports an exception that no thread catches, before the process ends.
#pragma once

namespace ballast::cli {

/// From now on std::terminate prints "ballast: internal error: what()" as the
/// last line on stderr and exits with code 1. Applies to the whole process,
/// including libraries opened later.
void explain_terminate();

} // namespace ballast::cli
