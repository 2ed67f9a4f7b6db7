/// Wraps the part of SQLite that the journal needs: a connection, a statement,
/// a transaction, and errors as ballast_error. Only journal*.cpp include this.
#pragma once

#include <cstdint>
#include <filesystem>
#include <sqlite3.h>
#include <string>
#include <string_view>

namespace ballast::store::sqlite {

/// A path as a file: URI, whatever characters it contains.
std::string uri_of(const std::filesystem::path& file, const char* query);

class connection {
public:
  /// `uri`: a "file:" URI; `flags`: SQLITE_OPEN_...
  connection(const std::filesystem::path& file, const std::string& uri,
             int flags);
  ~connection();
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;

  void run(const char* sql);
  sqlite3* handle() const { return handle_; }
  /// Throws the ballast_error for the connection's last failure.
  [[noreturn]] void fail(int code, const char* action) const;
  /// Fault points before and after the commit that makes a change durable.
  void before_commit() const;
  void after_commit() const;

private:
  std::filesystem::path file_;
  sqlite3* handle_ = nullptr;
};

/// A prepared statement. As in SQLite, parameters count from 1, columns from 0.
class statement {
public:
  statement(const connection& on, std::string_view sql);
  ~statement();
  statement(const statement&) = delete;
  statement& operator=(const statement&) = delete;

  statement& bind(int parameter, uint64_t number);
  statement& bind(int parameter, std::string_view text);
  statement& bind_null(int parameter);

  /// The next row, or false after the last (then it can be bound again).
  bool step();
  /// For statements without result rows: runs once, returns the number of
  /// changed rows.
  int run();

  uint64_t number(int column) const;
  std::string text(int column) const;
  bool is_null(int column) const;

private:
  const connection& on_;
  sqlite3_stmt* handle_ = nullptr;
};

/// Rolls back unless committed.
class transaction {
public:
  explicit transaction(connection& on);
  ~transaction();
  transaction(const transaction&) = delete;
  transaction& operator=(const transaction&) = delete;
  void commit();

private:
  connection& on_;
  bool open_ = true;
};

} // namespace ballast::store::sqlite
