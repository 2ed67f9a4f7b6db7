/// The database, or the Flight server, of a job's source.
#pragma once

#include "data/source/database_stream.hpp"
#include "data/source/source_table.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

/// ballast_error as open_database() and open_flight().
std::unique_ptr<database_stream> open_database(const source_spec& spec,
                                               const std::string& pointer,
                                               const store::work_watch& stop);
/// "localhost/shop: orders", for the list of sources.
std::string name_of_database(const source_spec& spec,
                             const std::string& pointer);

/// What a user should know of how the rows of `from` are read, if a database or
/// a server sends them; each begins with `name`.
std::vector<std::string> notes_of_stream(const record_stream& from,
                                         const std::string& name);

} // namespace ballast::data
