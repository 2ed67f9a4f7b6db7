/// The chunks of a set, and the samples in them, as Arrow tables: a million
/// chunks are read in a moment, where JSON takes minutes. Workers are sent the
/// table of chunks; only an audit reads the samples.
///
/// chunks.arrow: a row for each chunk, those of the training set first: rows,
///   bytes, checksum, and the labels that it has with their rows. The JSON of
///   the rest of the manifest is the schema's metadata "ballast.manifest".
/// samples.arrow: for each of them first and count of its runs of sample ids,
///   and of its rows in the source; null: the same.
///
/// Both are Arrow IPC streams. Errors: ballast_error{invalid_data} with `name`.
#pragma once

#include "runtime/ledger/manifest.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

namespace ballast::data {

inline constexpr const char* chunk_table_name = "chunks.arrow";
inline constexpr const char* sample_table_name = "samples.arrow";
/// A manifest of more chunks is written with tables; of fewer, all of it is
/// readable JSON.
constexpr size_t chunks_in_json_max = 4096;

/// Workers need no labels of chunks: these are most of the table.
enum class chunk_columns_wanted : uint8_t { all, no_labels };
std::string
chunk_table(const ledger::manifest& of,
            chunk_columns_wanted columns = chunk_columns_wanted::all);
/// Everything but samples, and the labels if the table has none.
ledger::manifest read_chunk_table(const std::string& bytes,
                                  const std::string& name);

/// Writes it there, synced; returns its checksum. It may be as large as the
/// set's rows are many, so it is never in memory as a whole.
std::string write_sample_table(const ledger::manifest& of,
                               const std::filesystem::path& to);
void read_sample_table(const std::string& bytes, const std::string& name,
                       ledger::manifest& into);

/// Reads the tables of a manifest whose JSON names them from its folder and
/// verifies their checksums; does nothing if it names none.
void read_chunks(const std::filesystem::path& folder, ledger::manifest& into);
void read_samples(const std::filesystem::path& folder, ledger::manifest& into);

} // namespace ballast::data
