/// Reads the tables of a journal; for journal*.cpp only.
#pragma once

#include "store/journal.hpp"
#include "store/sqlite.hpp"

#include <cstdint>
#include <filesystem>

namespace ballast::store {

/// The journal format that this build writes and reads.
constexpr int journal_schema_version = 1;

/// The number that a query returns; 0 if it returns none.
uint64_t one_number(sqlite::connection& on, const char* sql);

/// One snapshot of all tables.
journal_content read_all(sqlite::connection& on);

/// Throws run_dir_unusable for a journal of another format.
void check_version(sqlite::connection& on, const std::filesystem::path& folder);

} // namespace ballast::store
