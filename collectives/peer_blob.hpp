/// A rank's description of itself before the mesh is joined: the blob behind
/// collective_opening::address(). Every rank checks every blob against its own
/// options, so that a rank of an old generation, with another layout or from
/// another run is refused by name before a byte of a gradient moves.
///
/// The control plane carries the blobs; the token itself never travels, only a
/// hash of it. The hash tells runs apart, it is no authentication: a backend
/// that opens sockets proves the token on each connection.
#pragma once

#include "collectives/collective.hpp"

#include <string>
#include <vector>

namespace ballast::collectives {

/// A printable blob: the facts of `options` and the backend's own `payload`.
std::string make_peer_blob(const std::string& backend,
                           const collective_options& options,
                           const std::string& payload);

/// The payloads by rank. collective_error{mismatch} names the rank, the field
/// and both values if a blob does not match `options`.
std::vector<std::string>
check_peer_blobs(const std::string& backend, const collective_options& options,
                 const std::vector<std::string>& blobs);

/// collective_error{mismatch} unless 0 <= rank < size <= ranks_max.
void check_options(const std::string& backend,
                   const collective_options& options, int ranks_max);

} // namespace ballast::collectives
