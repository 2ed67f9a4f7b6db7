// Rows of an SQLite file. Its values have types, its columns have none: one
// pass over the rows finds the type that holds each column, before any row is
// read.
#include "data/base/arrow_support.hpp"
#include "data/base/content_hash.hpp"
#include "data/source/batch_pieces.hpp"
#include "data/source/database_kinds.hpp"
#include "data/source/ordered_parts.hpp"
#include "data/source/postgres_parts.hpp"
#include "data/source/source_file.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <atomic>
#include <filesystem>

namespace ballast::data {

namespace {

constexpr int64_t bytes_ahead = 64 << 20;
// Four sums for a column, and SQLite returns at most 2,000 columns.
constexpr size_t columns_of_pass = 400;
// A batch of the driver; it is measured in rows, and wide rows must fit, too.
constexpr int64_t values_of_batch = 64 << 10;

enum class sqlite_type : uint8_t { integer, real, text, blob };

struct sqlite_column {
  std::string name;
  sqlite_type type = sqlite_type::real;
};

// A value of the type: the driver takes a column's type from its first rows.
const char* sample_of(sqlite_type type) {
  switch (type) {
  case sqlite_type::integer:
    return "0";
  case sqlite_type::real:
    return "0.0";
  case sqlite_type::text:
    return "''";
  case sqlite_type::blob:
    return "x''";
  }
  return "0.0";
}

const char* cast_of(sqlite_type type) {
  switch (type) {
  case sqlite_type::integer:
    return "integer";
  case sqlite_type::real:
    return "real";
  case sqlite_type::text:
    return "text";
  case sqlite_type::blob:
    return "blob";
  }
  return "real";
}

std::shared_ptr<arrow::DataType> arrow_type(sqlite_type type) {
  switch (type) {
  case sqlite_type::integer:
    return arrow::int64();
  case sqlite_type::real:
    return arrow::float64();
  case sqlite_type::text:
    return arrow::utf8();
  case sqlite_type::blob:
    return arrow::binary();
  }
  return arrow::float64();
}

// Size and time of a file and of its write-ahead log, which may be missing.
struct sqlite_stamp {
  file_stamp file;
  std::optional<file_stamp> log;
  friend bool operator==(const sqlite_stamp&, const sqlite_stamp&) = default;
};

class sqlite_stream final : public database_stream {
public:
  sqlite_stream(const database_place& place, const database_spec& spec,
                const database_context& context)
      : context_(context), path_(place.path),
        query_(context.query.empty()
                   ? "select * from " +
                         quoted_table(spec.table, context.statement_pointer)
                   : context.query) {
    const sqlite_stamp before = stamp(); // refuses what is no file
    try {
      // Only to read: with a query that writes the file would be another one.
      session_ =
          std::make_unique<adbc_session>(driver_of(database_kind::sqlite),
                                         adbc_options{{"uri", uri_of(path_)}});
      session_->run("begin");
      session_->first_row("select count(*) from sqlite_master");
    } catch (const adbc_failure& failure) {
      refuse_answer(context_, failure, 0);
    }
    opened_ = stamp();
    changed_ = !(before == opened_);
    watched([&] { find_columns(); });
    for (int i = 0; i < schema_->num_fields(); ++i)
      chosen_.push_back(i);
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
      begin_reading();
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
    content_hash hash;
    hash.update(query_);
    for (const std::string& path : {path_, path_ + "-wal"}) {
      if (path != path_ && !opened_.log)
        continue;
      source_file file(path, context_.pointer + "/uri", context_.stop);
      std::vector<char> block(1 << 20);
      while (const size_t bytes = file.read(block.data(), block.size()))
        hash.update(block.data(), bytes);
    }
    if (changed_ || !(stamp() == opened_))
      throw ballast_error(errc::invalid_data,
                          context_.place +
                              ": the file changed while it was being read; "
                              "stop what writes to it, or read a copy",
                          context_.pointer + "/uri");
    return "sqlite hash=" + hex16(hash.digest());
  }

  const std::vector<std::string>& notes() const override { return notes_; }

private:
  static std::string uri_of(const std::string& path) {
    std::string out = "file:";
    for (const char c : std::filesystem::absolute(path).string())
      if (c == '%' || c == '?' || c == '#')
        out += c == '%' ? "%25" : c == '?' ? "%3f" : "%23";
      else
        out += c;
    return out + "?mode=ro";
  }

  sqlite_stamp stamp() const {
    const std::string pointer = context_.pointer + "/uri";
    sqlite_stamp out;
    out.file = stamp_of(path_, pointer);
    std::error_code error;
    const std::string log = path_ + "-wal";
    // An empty log is what opening the file leaves.
    if (std::filesystem::file_size(log, error) > 0 && !error)
      out.log = stamp_of(log, pointer);
    return out;
  }

  void watched(const std::function<void()>& work) {
    while_watched(
        context_.stop, [this] { session_->cancel(); },
        [&] {
          try {
            work();
          } catch (const adbc_failure& failure) {
            refuse_answer(context_, failure, 0);
          }
        });
  }

  void find_columns() {
    // The query alone first, for its own mistakes to be named.
    session_->query(query_ == context_.query ? query_ : query_ + " limit 0");
    const std::shared_ptr<arrow::Schema> told =
        session_->query("select * from (" + query_ + "\n) limit 0")->schema();
    for (const std::string& name : told->field_names())
      columns_.push_back({name});
    for (size_t first = 0; first < columns_.size(); first += columns_of_pass)
      find_types(first, std::min(columns_.size(), first + columns_of_pass));
    std::vector<std::shared_ptr<arrow::Field>> fields;
    for (const sqlite_column& one : columns_)
      fields.push_back(arrow::field(one.name, arrow_type(one.type)));
    schema_ = arrow::schema(std::move(fields));
  }

  void find_types(size_t first, size_t last) {
    static constexpr const char* kinds[] = {"integer", "real", "text", "blob"};
    std::string sums;
    for (size_t i = first; i < last; ++i)
      for (const char* kind : kinds)
        sums += (sums.empty() ? "total(typeof(" : ", total(typeof(") +
                quoted_name(columns_[i].name) + ")='" + kind + "')>0";
    const auto found =
        session_->first_row("select " + sums + " from (" + query_ + "\n)");
    for (size_t i = first; i < last; ++i) {
      bool has[4];
      for (size_t kind = 0; kind < 4; ++kind)
        has[kind] = found.at((i - first) * 4 + kind).value_or("0") == "1";
      settle(columns_[i], has);
    }
  }

  // The narrowest type that every value can be written in.
  void settle(sqlite_column& column, const bool (&has)[4]) {
    const bool numbers = has[0] || has[1];
    column.type = has[3]              ? sqlite_type::blob
                  : has[2]            ? sqlite_type::text
                  : has[1] || !has[0] ? sqlite_type::real
                                      : sqlite_type::integer;
    if ((has[2] && numbers) || (has[3] && (numbers || has[2])))
      notes_.push_back("column '" + printable(column.name) +
                       "' holds values of several types and is read as " +
                       cast_of(column.type));
  }

  void begin_reading() {
    std::string samples;
    std::string list;
    for (const int i : chosen_) {
      const sqlite_column& one = columns_[size_t(i)];
      const std::string name = quoted_name(one.name);
      samples += (samples.empty() ? "" : ", ") +
                 std::string(sample_of(one.type)) + " as " + name;
      list += (list.empty() ? "cast(" : ", cast(") + name + " as " +
              cast_of(one.type) + ")";
    }
    // SQLite runs the sides of this one after the other, and keeps the order
    // that the query asks for.
    const std::string statement = "select " + samples + " union all select " +
                                  list + " from (" + query_ + "\n)";
    const int64_t rows =
        std::max<int64_t>(values_of_batch / int64_t(chosen_.size()), 64);
    reading_ = std::make_unique<ordered_parts>(
        1,
        std::vector<ordered_parts::reader>{
            {[this, statement, rows,
              schema = chosen_of(*schema_, chosen_)](size_t, const auto& give) {
               read(statement, rows, schema, give);
             },
             [this] { session_->cancel(); }}},
        bytes_ahead, context_.stop);
  }

  void
  read(const std::string& statement, int64_t rows_of_batch,
       const std::shared_ptr<arrow::Schema>& schema,

       const std::function<bool(std::shared_ptr<arrow::RecordBatch>)>& give) {
    try {
      const std::unique_ptr<adbc_rows> rows = session_->query(
          statement,
          {{"adbc.sqlite.query.batch_rows", std::to_string(rows_of_batch)}});
      bool first = true;
      while (std::shared_ptr<arrow::RecordBatch> batch = rows->next()) {
        if (first && batch->num_rows() > 0) {
          batch = batch->Slice(1); // the samples
          first = false;
        }
        if (batch->num_rows() > 0 && !give(as_told(std::move(batch), schema)))
          return;
      }
    } catch (const adbc_failure& failure) {
      refuse_answer(context_, failure, rows_come_);
    }
  }

  const database_context context_;
  const std::string path_;
  const std::string query_;
  sqlite_stamp opened_;
  bool changed_ = false;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<sqlite_column> columns_;
  std::vector<std::string> notes_;
  std::vector<int> chosen_;
  batch_pieces pieces_{database_batch_bytes};
  std::atomic<uint64_t> rows_come_{0};
  std::unique_ptr<adbc_session> session_;
  std::unique_ptr<ordered_parts> reading_; // ends before its session
};

} // namespace

std::unique_ptr<database_stream> open_sqlite(const database_spec& spec,
                                             const database_request&,
                                             const database_place& place,
                                             const database_context& context) {
  return std::make_unique<sqlite_stream>(place, spec, context);
}

} // namespace ballast::data
