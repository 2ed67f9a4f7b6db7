/// How a command of the node library ends: its exit code, with the reason of a
/// failure as the last line on stderr. No exception leaves it.
#pragma once

#include "cli/commands/ending_signals.hpp"

#include <functional>
#include <string>

namespace ballast::cli {

/// Runs `work`, which returns the exit code or throws. `name`: before the
/// reason.
int end_of_command(const std::function<int()>& work,
                   const std::string& name = "ballast");

/// A signal that ended it is no failure: says so, with what is left behind, and
/// returns 128 and its number.
int end_of_command(const std::function<int()>& work,
                   const ending_signals& signals, const std::string& left);

} // namespace ballast::cli
