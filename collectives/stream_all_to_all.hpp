/// Blocks between all ranks of a mesh of byte streams: in round k of n - 1 a
/// rank sends to the one k places after it while it receives from the one k
/// places before, so that every link is busy with one pair at a time.
///   (n-1) (a + B b)   n ranks, B bytes a block, latency a, time per byte b
#pragma once

#include "collectives/collective.hpp"
#include "collectives/stream_mesh.hpp"

#include <cstddef>

namespace ballast::collectives {

/// As collective::all_to_all. On the thread of the mesh.
void exchange_blocks(stream_mesh& mesh, const void* from, void* to,
                     size_t bytes, deadline until);

} // namespace ballast::collectives
