/// What tells one build and one run from another.
#pragma once

#include <string>

namespace ballast {

/// Identifies this build: the linker's build id of the library that holds the
/// code. Only equal builds may join one cluster.
std::string build_id();

/// 128 random bits in hex, for a run's planes.
std::string make_token();

} // namespace ballast
