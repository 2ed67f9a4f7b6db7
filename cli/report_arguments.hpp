/// The command lines of `ballast report` and `ballast compare`.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace ballast::cli {

/// `chosen` becomes the work of the one that is parsed.
void add_report_commands(CLI::App& app, std::function<int()>& chosen);

} // namespace ballast::cli
