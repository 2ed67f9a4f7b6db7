/// Sets up shared memory between the ranks of one host, over the links that
/// they have already: every rank passes its board and arenas to every other.
#pragma once

#include "collectives/shm_group.hpp"
#include "collectives/stream_mesh.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ballast::collectives {

/// Equal exactly for processes that can share memory: this boot of this kernel,
/// this network namespace. Empty if sharing is impossible. The environment
/// variable BALLAST_HOST_ID overrides it (empty: no sharing).
std::string find_host_id();

/// `ranks`: those of this host, ascending, including `options.rank`; `links` by
/// rank must be local sockets with nothing in flight. collective_error names
/// the rank at fault.
std::unique_ptr<shm_group>
join_shm(const collective_options& options, const std::vector<int>& ranks,
         const std::vector<stream_mesh::link>& links, arena_book& arenas,
         const std::shared_ptr<death_watch>& watch,
         std::shared_ptr<stop_switch> stop, deadline until);

} // namespace ballast::collectives
