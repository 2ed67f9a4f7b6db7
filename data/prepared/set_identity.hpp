/// Exactly the inputs that determine the content of a prepared set, so that a
/// job with another model or learning rate finds it in the cache.
#pragma once

#include "data/prepared/prepare_cache.hpp"
#include "data/source/source_table.hpp"
#include "store/work_watch.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ballast::data {

/// The kind of label that the job's rows have.
label_kind label_of(const job& what);
/// The columns of `balance.by`, then that of `balance.group`, which only the
/// training set has.
std::vector<column_to_keep> kept_columns(const job& what);

/// Of a job: the field with the column of its sampling, the last of those.
inline constexpr const char* sampling_column_field = "/train/sampling/column";

/// In a set's manifest.json: what its weights and the order of its rows are of.
inline constexpr const char* sampling_key = "sampling";
/// That: the part of `train.sampling` on which a set depends, the same of two
/// samplings that use the rows of any set alike; their lengths and paces are of
/// a run. Null: every row once, in any order.
nlohmann::json sampling_of_set(const sampling_spec& how);

/// Its hash is the key of the set. Reads the source files, or the cache's
/// memory of their hashes.
/// `found`: what is known of the files of stores; null: they are looked for.
nlohmann::json set_identity(const job& what, prepare_cache& cache,
                            const store::work_watch& stop,
                            found_files* found = nullptr);

/// All that determines the rows of a node of the job's graph: the sources by
/// their content, the nodes above it, itself, and the seed if one of them
/// draws.
nlohmann::json node_identity(const job& what, size_t node, prepare_cache& cache,
                             const store::work_watch& stop);

/// Of that of a set, what determines the rows themselves: sources, columns and
/// pipeline, but not how they are placed, cut and divided into training and
/// test set.
nlohmann::json rows_identity(const nlohmann::json& set_identity);

/// Whether the rows are read from sources, not made.
bool rows_are_read(const job& what);
/// Whether all that the job needs of a row is in a prepared set: not so the
/// columns that only placing or balancing looks at.
bool set_has_all_columns(const job& what);

/// The source that differs between two identities of one job, for a message;
/// empty if none does.
std::string changed_source(const job& what, const nlohmann::json& before,
                           const nlohmann::json& now);

} // namespace ballast::data
