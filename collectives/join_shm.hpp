/// Brings the ranks of one host together in shared memory, over the links that
/// they have already: everyone passes its board and arenas to everyone.
#pragma once

#include "collectives/shm_group.hpp"
#include "collectives/stream_mesh.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ballast {

/// The same for processes that can share memory, and for no others: this boot
/// of this kernel, this network namespace. Empty where sharing is impossible.
/// The environment variable BALLAST_HOST_ID overrides it (empty: no sharing).
std::string find_host_id();

/// `ranks`: those of this host, ascending, with `options.rank` among them;
/// `links` by rank must be local sockets with nothing in flight.
/// collective_error names the rank that spoils it.
std::unique_ptr<shm_group>
join_shm(const collective_options& options, const std::vector<int>& ranks,
         const std::vector<stream_mesh::link>& links, arena_book& arenas,
         const std::shared_ptr<death_watch>& watch,
         std::shared_ptr<stop_switch> stop, deadline until);

} // namespace ballast
