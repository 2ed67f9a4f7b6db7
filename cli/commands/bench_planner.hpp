/// `ballast bench planner`: the cost of the planner's mathematics on this
/// machine.
#pragma once

namespace ballast::cli {

/// Arguments from the name on ("planner", options). Returns the exit code.
int bench_planner(int argc, char** argv);

} // namespace ballast::cli
