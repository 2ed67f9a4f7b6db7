/// The backend "gloo": Debian's libgloo over TCP, the portable baseline.
///
/// Not abortable: a death reaches only the ring neighbours of the dead rank at
/// once, everybody else leaves the operation at its deadline. abort() resets
/// this rank's connections, which frees neighbours; this rank's own waiter
/// leaves at its deadline too. A context that failed is dropped for good.
///
/// The deadline of an operation is applied to each wait inside it. An address
/// holds one listener per peer; connect makes the full mesh and ends with a
/// barrier, so that whoever returns may close.
#pragma once

#include "collectives/collective.hpp"

#include <memory>

namespace ballast {

std::unique_ptr<collective_backend> make_gloo_backend();

} // namespace ballast
