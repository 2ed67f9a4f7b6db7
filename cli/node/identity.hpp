/// Identifies a build and a run.
#pragma once

#include <string>

namespace ballast::cli {

/// The linker's build id of the library that contains the code. Only equal
/// builds may join one cluster.
std::string build_id();

/// 128 random bits in hex, the shared secret of a run.
std::string make_token();

} // namespace ballast::cli
