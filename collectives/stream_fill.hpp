/// The part of collective::fill_lacking that goes over streams, from host to
/// host: who holds the bytes sends a stripe of them to some of those who lack
/// them; these put the stripes where they belong, all at the same time, and
/// send all on to the others while it comes.
#pragma once

#include "collectives/fill_route.hpp"
#include "collectives/stream_mesh.hpp"

#include <cstddef>

namespace ballast::collectives {

/// Of a rank that neither gives nor takes it returns at once.
void fill_over_streams(stream_mesh& mesh, const fill_route& route, char* data,
                       size_t bytes, deadline until);

} // namespace ballast::collectives
