/// One connection to a database, by the functions of its ADBC driver, and the
/// results that it reads. Includes Arrow; for source files of data/ only.
///
/// One owner, one thread; only cancel() may come from another one. What a
/// driver refuses is an adbc_failure with the server's own words, which the
/// owner turns into an error of the job.
#pragma once

#include "data/source/adbc_driver.hpp"

#include <arrow/type_fwd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace ballast::data {

/// What the server, or the driver, said.
class adbc_failure : public std::runtime_error {
public:
  struct parts {
    std::string message;  // in one line or several, as it came
    std::string sqlstate; // five characters; empty where there is none
    std::string detail;   // PostgreSQL's DETAIL and CONTEXT
    std::string hint;
    std::optional<uint64_t> position; // in the statement, from 1, in characters
  };
  explicit adbc_failure(parts said)
      : std::runtime_error(said.message), said_(std::move(said)) {}
  const parts& said() const { return said_; }
  /// Of this class of the SQL standard: "42" is syntax and names.
  bool is(std::string_view state) const {
    return std::string_view(said_.sqlstate).substr(0, state.size()) == state;
  }

private:
  parts said_;
};

using adbc_options = std::vector<std::pair<std::string, std::string>>;

/// The answer to one query, read once, in order. It must not outlive its
/// session.
class adbc_rows {
public:
  ~adbc_rows();
  adbc_rows(const adbc_rows&) = delete;
  adbc_rows& operator=(const adbc_rows&) = delete;

  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  /// Null at the end; an empty batch may come before.
  std::shared_ptr<arrow::RecordBatch> next();

private:
  friend class adbc_session;
  struct inner;
  explicit adbc_rows(std::unique_ptr<inner> result);
  std::unique_ptr<inner> inner_;
  std::shared_ptr<arrow::Schema> schema_;
};

class adbc_session {
public:
  /// Connects; `options` are those of an AdbcDatabase ("uri" among them).
  adbc_session(AdbcDriver& driver, const adbc_options& options);
  ~adbc_session();
  adbc_session(const adbc_session&) = delete;
  adbc_session& operator=(const adbc_session&) = delete;

  /// `options` are those of an AdbcStatement.
  std::unique_ptr<adbc_rows> query(const std::string& sql,
                                   const adbc_options& options = {});
  /// A statement without an answer.
  void run(const std::string& sql);
  /// The columns of a query that is prepared, not run (PostgreSQL only).
  std::shared_ptr<arrow::Schema> schema_of(const std::string& sql);
  /// The first row of a query as text, a null as nothing.
  std::vector<std::optional<std::string>>
  first_row(const std::string& sql, const adbc_options& options = {});
  /// Ends what the server does for this connection, if the driver can; the
  /// owner then gets a failure. Any thread, while the session lives.
  void cancel();

private:
  struct inner;
  std::unique_ptr<inner> inner_;
};

} // namespace ballast::data
