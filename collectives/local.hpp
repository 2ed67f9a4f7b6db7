/// The backend "local": several ranks in one process that meet at an object
/// shared by token and generation. Plain loops in rank order: the oracle that
/// the conformance suite compares the others with, and what a world of one
/// needs. Abortable; a rank that is destroyed without close() counts as lost.
#pragma once

#include "collectives/collective.hpp"

#include <memory>

namespace ballast {

std::unique_ptr<collective_backend> make_local_backend();

} // namespace ballast
