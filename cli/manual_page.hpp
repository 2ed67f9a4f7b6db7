/// The manual page of the program, ballast(1), from the table that reads its
/// command line: `ballast docs man > ballast.1`.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace ballast::cli {

/// In the macros of man(7).
std::string manual_page(const CLI::App& app);

} // namespace ballast::cli
