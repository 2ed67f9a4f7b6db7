/// One configuration for every actor system of Ballast, in programs and tests:
/// registers the types of the protocol once, and keeps CAF quiet and small.
#pragma once

#include "actors/protocol.hpp"

#include <caf/io/all.hpp>

namespace ballast::actors {

class system_config : public caf::actor_system_config {
public:
  system_config();
};

/// A failure as it travels between actors, and back. The code survives, and
/// message and pointer with it.
caf::error to_error(const failure& what);
/// With content of files that explains it, see data/source/source_error.hpp.
caf::error to_error(const failure& what, const std::string& detail);
std::string detail_of(const caf::error& what);
failure to_failure(const caf::error& what);

} // namespace ballast::actors
