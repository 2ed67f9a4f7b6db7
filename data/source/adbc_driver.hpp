/// The drivers of databases: shared objects of the ADBC standard, opened when a
/// job reads such a database for the first time and never closed. Nothing links
/// them, so a program without them reads everything else. Any thread.
///
/// A driver that is not there is ballast_error{not_in_build} with the folders
/// that were searched and the way to get it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

struct AdbcDriver;

namespace ballast::data {

enum class database_kind : uint8_t { postgresql, sqlite };

/// "PostgreSQL", "SQLite".
const char* name_of(database_kind kind);

/// Where a driver is looked for, in this order: beside the file that holds this
/// code, beside the program, in an installed tree's lib folder, and where
/// `dev setup` unpacks it.
std::vector<std::string> driver_folders(database_kind kind);

/// The first driver in these folders, with its functions; it stays open.
AdbcDriver& open_driver(database_kind kind,
                        const std::vector<std::string>& folders);

/// The driver of this process, opened by the first call.
AdbcDriver& driver_of(database_kind kind);

} // namespace ballast::data
