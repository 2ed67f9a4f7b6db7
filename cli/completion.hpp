/// Completion for bash, from the same tables that read jobs and control
/// messages: `source <(ballast docs completion)`.
#pragma once

#include <string>
#include <vector>

namespace ballast::cli {

/// The script; `commands` are those of the program.
std::string bash_completion(const std::vector<std::string>& commands);

} // namespace ballast::cli
