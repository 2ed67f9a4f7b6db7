#include "data/source/database_stream.hpp"

#include "data/source/database_kinds.hpp"
#include "data/source/postgres_parts.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/array/array_base.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

namespace ballast::data {

std::shared_ptr<arrow::RecordBatch>
as_told(std::shared_ptr<arrow::RecordBatch>&& rows,
        const std::shared_ptr<arrow::Schema>& schema) {
  bool same = rows->num_columns() == schema->num_fields();
  for (int i = 0; same && i < schema->num_fields(); ++i)
    same = rows->column(i)->type()->Equals(*schema->field(i)->type());
  if (!same)
    throw ballast_error(errc::internal,
                        "the driver of a database told the columns " +
                            printable(schema->ToString(), 500) + " and sent " +
                            printable(rows->schema()->ToString(), 500));
  std::shared_ptr<arrow::RecordBatch> out =
      arrow::RecordBatch::Make(schema, rows->num_rows(), rows->columns());
  rows.reset();
  return out;
}

std::shared_ptr<arrow::Schema> chosen_of(const arrow::Schema& schema,
                                         const std::vector<int>& chosen) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (const int one : chosen)
    fields.push_back(schema.field(one));
  return arrow::schema(std::move(fields));
}

void check_chosen(const std::vector<int>& chosen, size_t columns) {
  bool valid = !chosen.empty();
  for (const int one : chosen)
    valid = valid && one >= 0 && size_t(one) < columns;
  if (!valid)
    throw ballast_error(errc::internal,
                        "columns were chosen that the database does not have");
}

std::unique_ptr<database_stream>
open_database(const database_spec& spec, const database_request& request) {
  const std::string& pointer = request.pointer;
  auto refuse = [&](const std::string& field, const std::string& why) {
    throw ballast_error(errc::invalid_job, why, pointer + field);
  };
  const database_place place = place_of_database(spec.uri, pointer + "/uri");
  const bool is_query = !without_end(spec.query).empty();
  if (is_query == !spec.table.empty())
    refuse("/query", "expected either a query or a table");
  if (spec.query.size() > query_bytes_max)
    refuse("/query", "the query is longer than " +
                         std::to_string(query_bytes_max) + " bytes");
  // Drivers take a text that ends at its first zero.
  if (spec.query.find('\0') != std::string::npos)
    refuse("/query", "the query holds a zero byte");
  if (spec.connections &&
      (*spec.connections < 1 || *spec.connections > database_connections_max))
    refuse("/connections",
           "expected 1 to " + std::to_string(database_connections_max) +
               " connections, found " + std::to_string(*spec.connections));
  if (place.kind == database_kind::sqlite) {
    if (!spec.password_env.empty() || !spec.password_file.empty())
      refuse("/password_env", "SQLite has no passwords: remove this field");
    if (!spec.partition_by.empty())
      refuse("/partition_by", "SQLite is read by one connection, in the order "
                              "of the query: remove this field");
  }
  database_context context;
  context.place = place.name;
  context.source = (is_query ? "query on "
                             : "table " + printable(spec.table, 100) + " on ") +
                   place.name;
  context.pointer = pointer;
  context.statement_pointer = pointer + (is_query ? "/query" : "/table");
  context.query = is_query ? without_end(spec.query) : "";
  context.password = password_of(spec, pointer);
  context.stop = request.stop;
  return place.kind == database_kind::postgresql
             ? open_postgres(spec, request, place, context)
             : open_sqlite(spec, request, place, context);
}

} // namespace ballast::data
