/// One connection to PostgreSQL: by the driver of ADBC, which also tells the
/// columns of a query, or by libpq, which is quicker as soon as there are rows.
/// Both read the same rows of the same answer. Includes Arrow; for source files
/// of data/ only.
///
/// One owner, one thread; only cancel() may come from another one. What the
/// server refuses is an adbc_failure with its own words.
#pragma once

#include "data/source/adbc_session.hpp"

#include <arrow/type_fwd.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ballast::data {

class postgres_session {
public:
  /// Takes a batch of rows; false: no more of them.
  using taker = std::function<bool(std::shared_ptr<arrow::RecordBatch>)>;

  postgres_session() = default;
  virtual ~postgres_session() = default;
  postgres_session(const postgres_session&) = delete;
  postgres_session& operator=(const postgres_session&) = delete;

  /// A statement without an answer.
  virtual void run(const std::string& sql) = 0;
  /// The first row of a query as text, a null as nothing.
  virtual std::vector<std::optional<std::string>>
  first_row(const std::string& sql) = 0;
  /// The rows of a query that has these columns, in batches of some 8 MiB.
  virtual void read(const std::string& sql,
                    const std::shared_ptr<arrow::Schema>& schema,
                    const taker& take) = 0;
  /// Ends what the server does for this connection; the owner then gets a
  /// failure. Any thread, while the session lives.
  virtual void cancel() = 0;
};

class postgres_by_driver final : public postgres_session {
public:
  explicit postgres_by_driver(const std::string& uri);

  /// The columns of a query that is prepared, not run.
  std::shared_ptr<arrow::Schema> schema_of(const std::string& sql) {
    return session_.schema_of(sql);
  }
  void run(const std::string& sql) override { session_.run(sql); }
  std::vector<std::optional<std::string>>
  first_row(const std::string& sql) override {
    return session_.first_row(sql);
  }
  void read(const std::string& sql,
            const std::shared_ptr<arrow::Schema>& schema,
            const taker& take) override;
  void cancel() override { session_.cancel(); }

private:
  adbc_session session_;
};

struct libpq;

class postgres_by_libpq final : public postgres_session {
public:
  postgres_by_libpq(const libpq& library, const std::string& uri);
  ~postgres_by_libpq() override;

  void run(const std::string& sql) override;
  std::vector<std::optional<std::string>>
  first_row(const std::string& sql) override;
  void read(const std::string& sql,
            const std::shared_ptr<arrow::Schema>& schema,
            const taker& take) override;
  void cancel() override;

private:
  struct inner;
  std::unique_ptr<inner> inner_;
};

} // namespace ballast::data
