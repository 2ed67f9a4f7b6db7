/// All that decides the content of a prepared set and nothing else, so that
/// another model or learning rate finds it again in the cache.
#pragma once

#include "data/prepare_cache.hpp"
#include "data/source_table.hpp"
#include "store/work_watch.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace ballast {

/// What a row of the job's data has beside its features.
label_kind label_of(const job& what);

/// Its hash names the set. Reads the source files, or what the cache remembers
/// of them.
nlohmann::json set_identity(const job& what, prepare_cache& cache,
                            const work_watch& stop);

/// Which source differs between two identities of one job, for a message; empty
/// where none does.
std::string changed_source(const job& what, const nlohmann::json& before,
                           const nlohmann::json& now);

} // namespace ballast
