/// The backend "gloo": Debian's libgloo over TCP, the portable baseline.
///
/// Not abortable for all: a death reaches only the dead rank's neighbours in
/// the ring at once, all others leave the operation at their deadline. abort()
/// frees this rank at once (collectives/abortable_gloo.hpp) and resets its
/// connections, which frees its neighbours. A context that failed is dropped
/// for good.
///
/// The deadline of an operation is applied to each wait inside it. An address
/// holds one listener per peer; connect creates the full mesh and ends with a
/// barrier, so that a rank that returns may close.
#pragma once

#include "collectives/collective.hpp"

#include <memory>

namespace ballast::collectives {

std::unique_ptr<collective_backend> make_gloo_backend();

} // namespace ballast::collectives
