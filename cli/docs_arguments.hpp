/// The command line of `ballast docs`, which prints what is generated: for
/// developers of Ballast, and for editors and shells.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace ballast::cli {

/// `chosen` becomes its work, if it is parsed.
void add_docs_command(CLI::App& app, std::function<int()>& chosen);

} // namespace ballast::cli
