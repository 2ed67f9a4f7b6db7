/// What an exception that no thread catches says before the process ends.
#pragma once

namespace ballast {

/// From now on std::terminate prints "ballast: internal error: what()" as the
/// last line on stderr and exits with code 1. Of the whole process, libraries
/// that are opened later included.
void explain_terminate();

} // namespace ballast
