#include "data/source/postgres_session.hpp"

#include "data/source/copied_rows.hpp"
#include "data/source/database_kinds.hpp"
#include "data/source/libpq.hpp"

#include <arrow/record_batch.h>

#include <charconv>

namespace ballast::data {

namespace {

// Of a batch of either; four of the driver's are on their way at most.
constexpr int64_t batch_bytes = 8 << 20;

// The end of a failure of libpq is a line feed, or two.
std::string without_line_feeds(const char* text) {
  std::string out = text ? text : "";
  while (!out.empty() && out.back() == '\n')
    out.pop_back();
  return out;
}

struct result {
  result(const libpq& of, PGresult* it) : library(of), got(it) {}
  ~result() { library.clear(got); } // which takes null, too
  result(const result&) = delete;
  result& operator=(const result&) = delete;

  const libpq& library;
  PGresult* const got;
};

} // namespace

// The types that PostgreSQL brings along are in the driver: it need not ask for
// all of a server's, which lasts longer than to read a small table.
postgres_by_driver::postgres_by_driver(const std::string& uri)
    : session_(
          driver_of(database_kind::postgresql),
          {{"uri", uri}, {"adbc.postgresql.type_resolver_mode", "builtin"}}) {}

void postgres_by_driver::read(const std::string& sql,
                              const std::shared_ptr<arrow::Schema>& schema,
                              const taker& take) {
  const std::unique_ptr<adbc_rows> rows = session_.query(
      sql,
      {{"adbc.postgresql.batch_size_hint_bytes", std::to_string(batch_bytes)}});
  while (std::shared_ptr<arrow::RecordBatch> batch = rows->next())
    if (batch->num_rows() > 0 && !take(as_told(std::move(batch), schema)))
      return;
}

struct postgres_by_libpq::inner {
  explicit inner(const libpq& of) : library(of) {}
  ~inner() {
    if (canceller)
      library.free_cancel(canceller);
    library.finish(connection);
  }
  inner(const inner&) = delete;
  inner& operator=(const inner&) = delete;

  // Places are told within what stands behind the first `in_front` characters.
  [[noreturn]] void fail(const PGresult* answer, uint64_t in_front);
  void expect(const PGresult* answer, int status, uint64_t in_front = 0) {
    if (!answer || library.result_status(answer) != status)
      fail(answer, in_front);
  }

  const libpq& library;
  PGconn* connection = nullptr;
  PGcancel* canceller = nullptr;
};

void postgres_by_libpq::inner::fail(const PGresult* answer, uint64_t in_front) {
  auto field = [&](int which) {
    const char* text = answer ? library.result_field(answer, which) : nullptr;
    return std::string(text ? text : "");
  };
  adbc_failure::parts said;
  said.message = field(libpq::message);
  if (said.message.empty()) // what libpq itself noticed
    said.message = without_line_feeds(library.error_message(connection));
  said.sqlstate = field(libpq::sqlstate);
  said.detail = field(libpq::detail);
  said.hint = field(libpq::hint);
  const std::string position = field(libpq::position);
  uint64_t at = 0;
  if (!position.empty() &&
      std::from_chars(position.data(), position.data() + position.size(), at)
              .ec == std::errc() &&
      at > in_front)
    said.position = at - in_front;
  throw adbc_failure(std::move(said));
}

postgres_by_libpq::postgres_by_libpq(const libpq& library,
                                     const std::string& uri)
    : inner_(std::make_unique<inner>(library)) {
  inner& my = *inner_;
  my.connection = library.connect(uri.c_str());
  if (library.status(my.connection) != libpq::connection_ok) {
    adbc_failure::parts said; // in the driver's words
    said.message = "[libpq] Failed to connect: " +
                   without_line_feeds(library.error_message(my.connection));
    throw adbc_failure(std::move(said));
  }
  // What a function says with RAISE NOTICE is for nobody.
  library.set_notice_receiver(
      my.connection, [](void*, const PGresult*) {}, nullptr);
  my.canceller = library.get_cancel(my.connection);
}

postgres_by_libpq::~postgres_by_libpq() = default;

void postgres_by_libpq::run(const std::string& sql) {
  const libpq& library = inner_->library;
  const result done(library, library.execute(inner_->connection, sql.c_str()));
  inner_->expect(done.got, libpq::command_ok);
}

std::vector<std::optional<std::string>>
postgres_by_libpq::first_row(const std::string& sql) {
  const libpq& library = inner_->library;
  const result rows(library, library.execute(inner_->connection, sql.c_str()));
  inner_->expect(rows.got, libpq::tuples_ok);
  std::vector<std::optional<std::string>> out;
  for (int i = 0;
       library.row_count(rows.got) > 0 && i < library.field_count(rows.got);
       ++i)
    out.push_back(library.is_null(rows.got, 0, i)
                      ? std::nullopt
                      : std::optional<std::string>(
                            std::in_place, library.value(rows.got, 0, i),
                            size_t(library.length(rows.got, 0, i))));
  return out;
}

void postgres_by_libpq::read(const std::string& sql,
                             const std::shared_ptr<arrow::Schema>& schema,
                             const taker& take) {
  const libpq& library = inner_->library;
  constexpr std::string_view in_front = "COPY (";
  const std::string copy =
      std::string(in_front) + sql + ") TO STDOUT (FORMAT binary)";
  {
    const result begun(library,
                       library.execute(inner_->connection, copy.c_str()));
    inner_->expect(begun.got, libpq::copy_out, in_front.size());
  }
  copied_rows rows(schema, batch_bytes);
  char* got = nullptr;
  int size = 0;
  while ((size = library.get_copy_data(inner_->connection, &got, 0)) > 0) {
    const std::unique_ptr<char, void (*)(void*)> owned(got,
                                                       library.free_memory);
    std::string_view bytes(got, size_t(size));
    while (!bytes.empty()) {
      bytes.remove_prefix(rows.add(bytes));
      if (rows.full() && !take(rows.take()))
        return;
    }
  }
  // The end, or a failure: the server says which.
  const result done(library, library.next_result(inner_->connection));
  inner_->expect(done.got, libpq::command_ok, in_front.size());
  while (PGresult* more = library.next_result(inner_->connection))
    library.clear(more);
  rows.check_end();
  if (std::shared_ptr<arrow::RecordBatch> last = rows.take())
    take(std::move(last));
}

void postgres_by_libpq::cancel() {
  char why[256]; // that nothing was under way is no failure
  if (inner_->canceller)
    inner_->library.cancel(inner_->canceller, why, sizeof why);
}

} // namespace ballast::data
