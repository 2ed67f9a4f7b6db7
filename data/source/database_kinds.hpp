/// The two kinds of database_stream, each in a file of its own; open_database
/// has checked what holds for both. For source files of data/ only.
#pragma once

#include "data/source/database_errors.hpp"
#include "data/source/database_place.hpp"
#include "data/source/database_stream.hpp"

#include <memory>

namespace ballast::data {

std::unique_ptr<database_stream> open_postgres(const database_spec& spec,
                                               const database_request& request,
                                               const database_place& place,
                                               const database_context& context);

std::unique_ptr<database_stream> open_sqlite(const database_spec& spec,
                                             const database_request& request,
                                             const database_place& place,
                                             const database_context& context);

/// These rows with the schema that the stream has told: what a driver adds to a
/// field stays behind, and `rows` with it, so that the thread that read them
/// shares nothing with the one that takes them. ballast_error{internal} if the
/// types are others.
std::shared_ptr<arrow::RecordBatch>
as_told(std::shared_ptr<arrow::RecordBatch>&& rows,
        const std::shared_ptr<arrow::Schema>& schema);

/// Only these columns.
std::shared_ptr<arrow::Schema> chosen_of(const arrow::Schema& schema,
                                         const std::vector<int>& chosen);

/// ballast_error{internal} unless they are indices of `columns` columns.
void check_chosen(const std::vector<int>& chosen, size_t columns);

} // namespace ballast::data
