/// Rows out of a database: the answer to a query, or a table, of PostgreSQL or
/// SQLite. Everything is read in one transaction that can only read, so that
/// the schema, the identity and all rows are of one moment.
///
/// Errors: ballast_error{invalid_job} for a wrong spec; invalid_data with the
/// server's words and their place in the query; unreachable with host and
/// database, after three attempts; not_in_build for a missing driver; stopped.
/// No password is in any of them. One owner, one thread; several connections
/// are read by threads of the stream's own.
#pragma once

#include "data/source/record_stream.hpp"
#include "store/work_watch.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ballast::data {

struct database_spec {
  std::string uri;           // postgresql://user@host:5432/db, sqlite:///a/b.db
  std::string query;         // this one,
  std::string table;         // or this: "name", "schema.name", each as written
  std::string password_env;  // the variable that holds the password,
  std::string password_file; // or the file that does
  /// PostgreSQL: an integer column, in whose order the rows come (nulls last).
  /// Without one a table comes in the order of its pages, a query in its own.
  std::string partition_by;
  /// Null: 4 where the rows can be divided, else 1. The order of the rows does
  /// not depend on it.
  std::optional<uint32_t> connections;
};

struct database_request {
  std::string pointer = "/data/train";
  store::work_watch stop = {};
  /// Before the second attempt to connect; twice as long before the third.
  std::chrono::milliseconds retry_wait{500};
};

constexpr uint32_t database_connections_max = 64;
constexpr size_t query_bytes_max = 1 << 20;
/// Of a batch of next(), unless one row alone is larger.
constexpr int64_t database_batch_bytes = 64 << 20;

class database_stream : public record_stream {
public:
  /// What the rows are, as text for a cache's key; the same text means the same
  /// rows in the same order. Before the first next(); reads all rows.
  ///
  /// PostgreSQL: the number and a 64-bit hash of all rows of this snapshot, all
  /// columns, computed by the server. It needs no trust in transaction numbers
  /// or log positions, which say nothing about unlogged and foreign tables or
  /// functions like now(), and change with every other write.
  /// SQLite: the hash of the file and its write-ahead log, and the query; with
  /// a query that calls random() or date('now') it promises too much.
  virtual std::string identity() = 0;

  /// What a user should know: columns that are read as another type, and why
  /// one connection has to do.
  virtual const std::vector<std::string>& notes() const = 0;
};

std::unique_ptr<database_stream> open_database(const database_spec& spec,
                                               const database_request& request);

} // namespace ballast::data
