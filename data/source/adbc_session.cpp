#include "data/source/adbc_session.hpp"

#include "data/base/arrow_support.hpp"

#include <arrow-adbc/adbc.h>
#include <arrow/api.h>
#include <arrow/c/bridge.h>

#include <charconv>

namespace ballast::data {

namespace {

// An AdbcError on the way through the functions of a driver.
class driver_error {
public:
  explicit driver_error(AdbcDriver& driver) : driver_(driver) {}
  ~driver_error() {
    if (error_.release)
      error_.release(&error_);
  }
  driver_error(const driver_error&) = delete;
  driver_error& operator=(const driver_error&) = delete;

  AdbcError* out() { return &error_; }
  void check(AdbcStatusCode status) const {
    if (status != ADBC_STATUS_OK)
      fail(driver_, error_,
           "the driver gave no reason (status " + std::to_string(int(status)) +
               ")");
  }

  [[noreturn]] static void fail(AdbcDriver& driver, const AdbcError& error,
                                const std::string& otherwise);

private:
  AdbcDriver& driver_;
  AdbcError error_ = ADBC_ERROR_INIT;
};

void driver_error::fail(AdbcDriver& driver, const AdbcError& error,
                        const std::string& otherwise) {
  adbc_failure::parts said;
  said.message = error.message ? error.message : otherwise;
  if (error.sqlstate[0] != '\0')
    said.sqlstate.assign(error.sqlstate, sizeof error.sqlstate);
  // What a driver knows beside the text: fields of PostgreSQL's protocol.
  const int count = error.private_data && driver.ErrorGetDetailCount
                        ? driver.ErrorGetDetailCount(&error)
                        : 0;
  for (int i = 0; i < count; ++i) {
    const AdbcErrorDetail one = driver.ErrorGetDetail(&error, i);
    if (!one.key || !one.value)
      continue;
    const std::string_view key = one.key;
    const std::string value(reinterpret_cast<const char*>(one.value),
                            one.value_length);
    if (key == "PG_DIAG_MESSAGE_PRIMARY")
      said.message = value;
    else if (key == "PG_DIAG_MESSAGE_DETAIL")
      said.detail = value;
    else if (key == "PG_DIAG_MESSAGE_HINT")
      said.hint = value;
    else if (key == "PG_DIAG_STATEMENT_POSITION") {
      uint64_t at = 0;
      if (std::from_chars(value.data(), value.data() + value.size(), at).ec ==
          std::errc())
        said.position = at;
    }
  }
  throw adbc_failure(std::move(said));
}

template <class T>
T take_answer(arrow::Result<T> result) {
  return take_arrow(std::move(result), errc::invalid_data,
                    "an answer of the database is not valid Arrow");
}

class adbc_statement {
public:
  adbc_statement(AdbcDriver& driver, AdbcConnection& connection,
                 const std::string& sql)
      : driver_(driver) {
    driver_error error(driver);
    error.check(driver.StatementNew(&connection, &statement_, error.out()));
    try {
      error.check(
          driver.StatementSetSqlQuery(&statement_, sql.c_str(), error.out()));
    } catch (...) {
      release();
      throw;
    }
  }
  ~adbc_statement() { release(); }
  adbc_statement(const adbc_statement&) = delete;
  adbc_statement& operator=(const adbc_statement&) = delete;

  AdbcStatement* get() { return &statement_; }
  void set(const adbc_options& options) {
    for (const auto& [name, value] : options) {
      driver_error error(driver_);
      error.check(driver_.StatementSetOption(&statement_, name.c_str(),
                                             value.c_str(), error.out()));
    }
  }

private:
  void release() {
    if (!statement_.private_data)
      return;
    driver_error error(driver_); // nobody is left to hear of it
    driver_.StatementRelease(&statement_, error.out());
  }

  AdbcDriver& driver_;
  AdbcStatement statement_{};
};

} // namespace

struct adbc_rows::inner {
  inner(AdbcDriver& of, AdbcConnection& connection, const std::string& sql)
      : driver(of), asked(of, connection, sql) {}
  ~inner() {
    if (stream.release)
      stream.release(&stream);
  }
  inner(const inner&) = delete;
  inner& operator=(const inner&) = delete;

  [[noreturn]] void fail(int code) {
    AdbcStatusCode status = ADBC_STATUS_OK;
    const AdbcError* error = driver.ErrorFromArrayStream
                                 ? driver.ErrorFromArrayStream(&stream, &status)
                                 : nullptr;
    const char* text = stream.get_last_error(&stream);
    const std::string otherwise =
        text ? text
             : "the driver gave no reason (" + std::to_string(code) + ")";
    if (error)
      driver_error::fail(driver, *error, otherwise);
    adbc_failure::parts said;
    said.message = otherwise;
    throw adbc_failure(std::move(said));
  }

  AdbcDriver& driver;
  adbc_statement asked;
  ArrowArrayStream stream{};
};

adbc_rows::adbc_rows(std::unique_ptr<inner> result)
    : inner_(std::move(result)) {
  ArrowSchema schema{};
  if (const int code = inner_->stream.get_schema(&inner_->stream, &schema))
    inner_->fail(code);
  schema_ = take_answer(arrow::ImportSchema(&schema));
}

adbc_rows::~adbc_rows() = default;

std::shared_ptr<arrow::RecordBatch> adbc_rows::next() {
  ArrowArray array{};
  if (const int code = inner_->stream.get_next(&inner_->stream, &array))
    inner_->fail(code);
  if (!array.release)
    return nullptr;
  return take_answer(arrow::ImportRecordBatch(&array, schema_));
}

struct adbc_session::inner {
  explicit inner(AdbcDriver& of) : driver(of) {}
  ~inner() {
    driver_error error(driver);
    if (connected)
      driver.ConnectionRelease(&connection, error.out());
    if (opened)
      driver.DatabaseRelease(&database, error.out());
  }
  inner(const inner&) = delete;
  inner& operator=(const inner&) = delete;

  AdbcDriver& driver;
  AdbcDatabase database{};
  AdbcConnection connection{};
  bool opened = false;
  bool connected = false;
};

adbc_session::adbc_session(AdbcDriver& driver, const adbc_options& options)
    : inner_(std::make_unique<inner>(driver)) {
  auto check = [&](auto&& call) {
    driver_error error(driver);
    error.check(call(error.out()));
  };
  inner& my = *inner_;
  check([&](AdbcError* e) { return driver.DatabaseNew(&my.database, e); });
  my.opened = true;
  for (const auto& one : options)
    check([&](AdbcError* e) {
      return driver.DatabaseSetOption(&my.database, one.first.c_str(),
                                      one.second.c_str(), e);
    });
  check([&](AdbcError* e) { return driver.DatabaseInit(&my.database, e); });
  check([&](AdbcError* e) { return driver.ConnectionNew(&my.connection, e); });
  my.connected = true;
  check([&](AdbcError* e) {
    return driver.ConnectionInit(&my.connection, &my.database, e);
  });
}

adbc_session::~adbc_session() = default;

std::unique_ptr<adbc_rows> adbc_session::query(const std::string& sql,
                                               const adbc_options& options) {
  AdbcDriver& driver = inner_->driver;
  auto result =
      std::make_unique<adbc_rows::inner>(driver, inner_->connection, sql);
  result->asked.set(options);
  driver_error error(driver);
  error.check(driver.StatementExecuteQuery(result->asked.get(), &result->stream,
                                           nullptr, error.out()));
  return std::unique_ptr<adbc_rows>(new adbc_rows(std::move(result)));
}

void adbc_session::run(const std::string& sql) {
  AdbcDriver& driver = inner_->driver;
  adbc_statement asked(driver, inner_->connection, sql);
  driver_error error(driver);
  error.check(
      driver.StatementExecuteQuery(asked.get(), nullptr, nullptr, error.out()));
}

std::shared_ptr<arrow::Schema> adbc_session::schema_of(const std::string& sql) {
  AdbcDriver& driver = inner_->driver;
  adbc_statement asked(driver, inner_->connection, sql);
  ArrowSchema schema{};
  driver_error error(driver);
  error.check(driver.StatementExecuteSchema(asked.get(), &schema, error.out()));
  return take_answer(arrow::ImportSchema(&schema));
}

std::vector<std::optional<std::string>>
adbc_session::first_row(const std::string& sql, const adbc_options& options) {
  const std::unique_ptr<adbc_rows> rows = query(sql, options);
  std::vector<std::optional<std::string>> out;
  while (const std::shared_ptr<arrow::RecordBatch> batch = rows->next()) {
    if (!out.empty() || batch->num_rows() == 0)
      continue; // to the end: an error may come last
    for (const std::shared_ptr<arrow::Array>& column : batch->columns()) {
      const std::shared_ptr<arrow::Scalar> value =
          take_answer(column->GetScalar(0));
      out.push_back(value->is_valid ? std::optional(value->ToString())
                                    : std::nullopt);
    }
  }
  return out;
}

void adbc_session::cancel() {
  AdbcDriver& driver = inner_->driver;
  driver_error error(driver); // that nothing was under way is no failure
  if (driver.ConnectionCancel)
    driver.ConnectionCancel(&inner_->connection, error.out());
}

} // namespace ballast::data
