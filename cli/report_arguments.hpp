/// The command line of `ballast report`.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace ballast::cli {

/// `chosen` becomes its work, if it is parsed.
void add_report_command(CLI::App& app, std::function<int()>& chosen);

} // namespace ballast::cli
