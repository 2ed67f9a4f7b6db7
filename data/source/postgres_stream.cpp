// Rows of PostgreSQL: a snapshot, exported to as many connections as there are
// parts to read at once. The driver of ADBC tells the columns; libpq reads them
// where it can.
#include "data/base/arrow_support.hpp"
#include "data/base/content_hash.hpp"
#include "data/source/batch_pieces.hpp"
#include "data/source/copied_rows.hpp"
#include "data/source/database_kinds.hpp"
#include "data/source/libpq.hpp"
#include "data/source/ordered_parts.hpp"
#include "data/source/postgres_parts.hpp"
#include "data/source/postgres_session.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <algorithm>
#include <charconv>
#include <numeric>
#include <set>
#include <thread>

namespace ballast::data {

namespace {

constexpr int attempts_max = 3;
constexpr uint32_t connections_by_default = 4;
constexpr int64_t bytes_ahead_of_connection = 32 << 20;
constexpr int ranges_of_pages_since = 140000; // PostgreSQL 14
constexpr int hashes_of_records_since = 140000;

int64_t number_in(const std::optional<std::string>& text) {
  int64_t out = 0;
  if (text)
    std::from_chars(text->data(), text->data() + text->size(), out);
  return out;
}

class postgres_stream final : public database_stream {
public:
  postgres_stream(const database_spec& spec, const database_request& request,
                  const database_place& place, const database_context& context)
      : context_(context), retry_wait_(request.retry_wait),
        uri_(uri_with(place, context.password)),
        asked_connections_(spec.connections) {
    rows_ = context_.query.empty()
                ? quoted_table(spec.table, context_.statement_pointer)
                : "(" + context_.query + "\n)";
    connect();
    may_copy_ = libpq_here() && has_exported();
    auto& driver = static_cast<postgres_by_driver&>(*sessions_.back());
    watched([&] { prepare(driver); });
    watched([&] { divide(spec); });
    chosen_ = all_columns();
    may_copy_ = may_copy_ && copied_rows::can_read(*schema_);
  }

  std::shared_ptr<arrow::Schema> schema() override { return schema_; }

  void choose(std::vector<int> columns) override {
    check_chosen(columns, columns_.size());
    if (reading_)
      throw ballast_error(errc::internal, "columns were chosen too late");
    chosen_ = std::move(columns);
  }

  std::shared_ptr<arrow::RecordBatch> next() override {
    if (!reading_)
      reading_ = read_parts(
          [this](size_t part) { return select(chosen_) + parts_.clause(part); },
          chosen_of(*schema_, chosen_));
    std::shared_ptr<arrow::RecordBatch> out =
        take_arrow(pieces_.next([this] { return reading_->next(); }),
                   errc::device_failed, context_.place);
    rows_come_ = uint64_t(pieces_.rows());
    return out;
  }

  std::string place_of(int64_t row) const override {
    return context_.source + ": row " +
           std::to_string(pieces_.rows_before() + row + 1);
  }

  std::string identity() override {
    if (reading_)
      throw ballast_error(errc::internal, "an identity was asked for too late");
    // The number of a row is part of it, so that the order counts. h.*: a
    // column may be called h, too. In binary, because the text of ten numbers
    // costs several times as much as to read and send them.
    const std::string hashed =
        version_ >= hashes_of_records_since
            ? "hash_record_extended(row(record_send(h.*)), 0)"
            : "hashtextextended((h.*)::text, 0)";
    const std::unique_ptr<ordered_parts> sums = read_parts(
        [&](size_t part) {
          return "select count(*)::int8, "
                 "coalesce(sum(" +
                 hashed +
                 "), 0)::text from (select row_number() over (), p.* from (" +
                 select(all_columns()) + parts_.clause(part) + ") as p) as h";
        },
        arrow::schema({arrow::field("rows", arrow::int64()),
                       arrow::field("sum", arrow::utf8())}));
    content_hash hash;
    hash.update(schema_->ToString(false));
    int64_t rows = 0;
    while (const std::shared_ptr<arrow::RecordBatch> sum = sums->next()) {
      const int64_t count =
          static_cast<const arrow::Int64Array&>(*sum->column(0)).Value(0);
      rows += count;
      if (count > 0) // that a table has empty pages at its end says nothing
        hash.update(
            std::to_string(count) + ":" +
            std::string(static_cast<const arrow::StringArray&>(*sum->column(1))
                            .GetView(0)) +
            ";");
    }
    return "postgresql rows=" + std::to_string(rows) +
           " hash=" + hex16(hash.digest());
  }

  const std::vector<std::string>& notes() const override { return notes_; }

private:
  // One more session. The first one exports its snapshot, the others take it.
  void connect() {
    for (int attempt = 1;; ++attempt) {
      const std::optional<adbc_failure> failed =
          failure_of(nullptr, [&] { add_session(); });
      if (!failed)
        break;
      if (attempt == attempts_max || !may_connect_later(*failed))
        refuse_connection(context_, *failed, attempt);
      wait(retry_wait_ * attempt);
    }
    watched([&] { begin(*sessions_.back()); });
  }

  void add_session() {
    sessions_.push_back(
        copies_ ? std::unique_ptr<postgres_session>(
                      std::make_unique<postgres_by_libpq>(*libpq_here(), uri_))
                : std::make_unique<postgres_by_driver>(uri_));
  }

  // What the server, or a client library, refuses of work that may last.
  std::optional<adbc_failure> failure_of(const std::function<void()>& cancel,
                                         const std::function<void()>& work) {
    std::optional<adbc_failure> failed;
    while_watched(context_.stop, cancel, [&] {
      try {
        work();
      } catch (const adbc_failure& failure) {
        failed = failure;
      }
    });
    return failed;
  }

  void wait(std::chrono::milliseconds time) const {
    constexpr std::chrono::milliseconds slice{20};
    for (; time.count() > 0; time -= slice) {
      store::check_stop(context_.stop);
      std::this_thread::sleep_for(std::min(time, slice));
    }
  }

  void begin(postgres_session& session) {
    session.run("begin transaction isolation level repeatable read read only");
    if (!snapshot_.empty())
      session.run("set transaction snapshot " + quoted_text(snapshot_));
    // A scan that several processes share, or that begins where another one is,
    // returns rows in an order of chance. A number's text must hold it exactly.
    // This transaction is idle while its rows are used. Text comes as the first
    // session asked for it.
    const auto set = session.first_row(
        "select set_config('max_parallel_workers_per_gather', '0', true), "
        "set_config('synchronize_seqscans', 'off', true), "
        "set_config('extra_float_digits', '1', true), "
        "set_config('idle_in_transaction_session_timeout', '0', true), " +
        (encoding_.empty() ? "current_setting('client_encoding')"
                           : "set_config('client_encoding', " +
                                 quoted_text(encoding_) + ", true)") +
        ", current_setting('server_version_num')::int4");
    if (set.size() == 6) {
      encoding_ = set[4].value_or("");
      version_ = number_in(set[5]);
    }
  }

  // Does what asks the server and may last.
  void watched(const std::function<void()>& work) {
    postgres_session& session = *sessions_.back();
    if (const auto failed = failure_of([&] { session.cancel(); }, work))
      refuse_answer(context_, *failed, 0);
  }

  // The query alone first: the server then tells places within it.
  void prepare(postgres_by_driver& driver) {
    const std::shared_ptr<arrow::Schema> told = driver.schema_of(
        context_.query.empty() ? "select * from " + rows_ : context_.query);
    std::set<std::string> names;
    for (const auto& field : told->fields()) {
      if (!names.insert(field->name()).second)
        throw ballast_error(errc::invalid_data,
                            context_.source + ": two columns are called '" +
                                printable(field->name()) +
                                "'; give each a name of its own with AS",
                            context_.statement_pointer);
      columns_.push_back(reading_of(*field));
      if (!columns_.back().note.empty())
        notes_.push_back(columns_.back().note);
    }
    if (columns_.empty())
      throw ballast_error(errc::invalid_data,
                          context_.source + ": it has no columns",
                          context_.statement_pointer);
    told_ = told;
    const std::shared_ptr<arrow::Schema> read =
        driver.schema_of(select(all_columns()));
    std::vector<std::shared_ptr<arrow::Field>> fields;
    for (const auto& field : read->fields())
      fields.push_back(arrow::field(field->name(), field->type()));
    schema_ = arrow::schema(std::move(fields));
  }

  std::vector<int> all_columns() const {
    std::vector<int> out(columns_.size());
    std::iota(out.begin(), out.end(), 0);
    return out;
  }

  std::string select(const std::vector<int>& columns) const {
    return "select " + select_list(columns_, columns) + " from " + rows_ +
           " as t";
  }

  void divide(const database_spec& spec) {
    if (!spec.partition_by.empty())
      divide_by_column(spec.partition_by);
    else if (!spec.table.empty())
      divide_by_pages();
    if (parts_.count() == 1 && asked_connections_.value_or(1) > 1 &&
        spec.partition_by.empty() && spec.table.empty())
      notes_.push_back(context_.source +
                       " is read by one connection: partition_by with an "
                       "integer column allows more");
  }

  void divide_by_column(const std::string& name) {
    const auto field = told_->GetFieldByName(name);
    const auto type = field ? field->type()->id() : arrow::Type::NA;
    if (type != arrow::Type::INT16 && type != arrow::Type::INT32 &&
        type != arrow::Type::INT64) {
      std::string known;
      for (const auto& one : told_->field_names())
        known += (known.empty() ? "" : ", ") + printable(one);
      throw ballast_error(
          errc::invalid_job,
          context_.source +
              (field ? ": column '" + printable(name) +
                           "' holds no integers; name one that does"
                     : ": there is no column '" + printable(name, 100) +
                           "'; there are " + known),
          context_.pointer + "/partition_by");
    }
    const std::string column = "t." + quoted_name(name);
    const auto found = sessions_[0]->first_row(
        "select count(*)::int8, count(" + column + ")::int8, min(" + column +
        ")::int8, max(" + column + ")::int8 from " + rows_ + " as t");
    auto number = [](const std::optional<std::string>& text) {
      return text ? std::optional(number_in(text)) : std::nullopt;
    };
    const int64_t rows = number_in(found.at(0));
    parts_ = postgres_parts::by_column(name, uint64_t(rows),
                                       number(found.at(2)), number(found.at(3)),
                                       number_in(found.at(1)) < rows);
  }

  // Only of a plain table do the pages make up the rows, in their order.
  void divide_by_pages() {
    const auto found = sessions_[0]->first_row(
        "select (c.relkind in ('r', 'm') and not c.relhassubclass and a.amname "
        "= 'heap')::int4, pg_relation_size(c.oid) / "
        "current_setting('block_size')::int8 from pg_class c left join "
        "pg_am a on a.oid = c.relam where c.oid = " +
        quoted_text(rows_) + "::regclass");
    if (found.size() == 2 && number_in(found[0]) == 1 &&
        version_ >= ranges_of_pages_since)
      parts_ = postgres_parts::by_pages(uint64_t(number_in(found[1])));
    else if (asked_connections_.value_or(1) > 1)
      notes_.push_back(context_.source +
                       " is read by one connection: it is no plain table of "
                       "PostgreSQL 14 or newer; partition_by with an integer "
                       "column allows more");
  }

  void export_snapshot() {
    snapshot_ = sessions_[0]
                    ->first_row("select pg_export_snapshot()")
                    .at(0)
                    .value_or("");
  }

  // Tried before there is anything to lose: a server that only speaks like
  // PostgreSQL may have no such function, and can be read all the same.
  bool has_exported() {
    postgres_session& session = *sessions_[0];
    auto cancel = [&] { session.cancel(); };
    if (!failure_of(cancel, [&] { export_snapshot(); }))
      return !snapshot_.empty();
    watched([&] {
      session.run("rollback");
      begin(session);
    });
    return false;
  }

  // From the driver to libpq, with the same snapshot. Whatever is in the way (a
  // URI that it understands otherwise, one connection too many), the driver can
  // do it, too.
  void leave_driver() {
    std::vector<std::unique_ptr<postgres_session>> driver;
    driver.swap(sessions_);
    copies_ = true;
    std::optional<adbc_failure> failed =
        failure_of(nullptr, [&] { add_session(); });
    if (!failed)
      failed = failure_of([&] { sessions_[0]->cancel(); },
                          [&] { take_over(*sessions_[0]); });
    copies_ = !failed;
    if (failed)
      sessions_ = std::move(driver);
    else
      snapshot_.clear(); // ends with the transaction that it is of
  }

  // Holds the tables, as the driver's transaction does until here: nobody may
  // empty them meanwhile.
  void take_over(postgres_session& session) {
    begin(session);
    session.run("prepare ballast_rows as " + select(all_columns()));
    session.run("deallocate ballast_rows");
  }

  // Opens the other connections when there is something for them to do.
  void open_sessions() {
    if (std::exchange(may_copy_, false))
      leave_driver();
    const size_t wanted = std::min<size_t>(
        parts_.count(), asked_connections_.value_or(connections_by_default));
    if (wanted > 1 && snapshot_.empty())
      watched([&] { export_snapshot(); });
    while (sessions_.size() < wanted)
      connect();
  }

  std::unique_ptr<ordered_parts>
  read_parts(const std::function<std::string(size_t)>& statement,
             const std::shared_ptr<arrow::Schema>& schema) {
    open_sessions();
    std::vector<ordered_parts::reader> readers;
    for (const std::unique_ptr<postgres_session>& one : sessions_) {
      postgres_session* session = one.get();
      readers.push_back(
          {[this, session, statement, schema](size_t part, const auto& give) {
             read_part(*session, statement(part), schema, give);
           },
           [session] { session->cancel(); }});
    }
    return std::make_unique<ordered_parts>(
        parts_.count(), std::move(readers),
        bytes_ahead_of_connection * int64_t(sessions_.size()), context_.stop);
  }

  void read_part(postgres_session& session, const std::string& statement,
                 const std::shared_ptr<arrow::Schema>& schema,
                 const postgres_session::taker& give) {
    try {
      session.read(statement, schema, give);
    } catch (const adbc_failure& failure) {
      refuse_answer(context_, failure, rows_come_);
    }
  }

  const database_context context_;
  const std::chrono::milliseconds retry_wait_;
  const std::string uri_;
  const std::optional<uint32_t> asked_connections_;
  std::string rows_; // what stands behind "from"
  std::string snapshot_;
  std::string encoding_;                // of text that comes
  int64_t version_ = 0;                 // of the server, as 140005
  std::shared_ptr<arrow::Schema> told_; // as the server has the columns
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<column_reading> columns_;
  std::vector<std::string> notes_;
  std::vector<int> chosen_;
  postgres_parts parts_;
  batch_pieces pieces_{database_batch_bytes};
  std::atomic<uint64_t> rows_come_{0};
  bool may_copy_ = false; // libpq has not been tried
  bool copies_ = false;   // it reads
  std::vector<std::unique_ptr<postgres_session>> sessions_;
  std::unique_ptr<ordered_parts> reading_; // ends before its sessions
};

} // namespace

std::unique_ptr<database_stream>
open_postgres(const database_spec& spec, const database_request& request,
              const database_place& place, const database_context& context) {
  return std::make_unique<postgres_stream>(spec, request, place, context);
}

} // namespace ballast::data
