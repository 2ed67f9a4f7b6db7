/// The backend "local": several ranks in one process that share an object,
/// found by token and generation. Plain loops in rank order: the reference for
/// the conformance suite, and the backend for a world of one. Abortable; a rank
/// that is destroyed without close() counts as lost.
#pragma once

#include "collectives/collective.hpp"

#include <memory>

namespace ballast::collectives {

std::unique_ptr<collective_backend> make_local_backend();

} // namespace ballast::collectives
