/// Completion for shells, from the tables that read the command line, jobs and
/// control messages: `source <(ballast docs completion)`.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace ballast::cli {

/// The scripts; of a program whose commands are the subcommands of `app`.
std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

} // namespace ballast::cli
