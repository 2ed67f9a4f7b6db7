/// `ballast data show|profile|prepare|split|partition|write|resample`: reads
/// its arguments and the job, and hands both to the library that knows data.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace ballast::cli {

/// `chosen` becomes the work of the command that is given.
void add_data_commands(CLI::App& app, std::function<int()>& chosen);

} // namespace ballast::cli
