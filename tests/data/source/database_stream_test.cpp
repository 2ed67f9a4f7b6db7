/// Rows out of real databases: an SQLite file, and a PostgreSQL that the tests
/// start (they skip themselves where it is not installed). What arrives must be
/// what was stored, in an order that no number of connections changes, and
/// whatever goes wrong ends in one error that a user can act on.
#include "data/source/database_stream.hpp"

#include "data/sink/source_versions.hpp"
#include "data/source/adbc_session.hpp"
#include "data/source/database_place.hpp"
#include "data/source/source_error.hpp"
#include "data/source/source_table.hpp"
#include "tests/data/some_chunks.hpp"
#include "tests/data/some_postgres.hpp"

#include <arrow/api.h>
#include <arrow/util/byte_size.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <thread>

namespace ballast::data {
namespace {

using testing::HasSubstr;
using testing::Not;

std::shared_ptr<arrow::Table> all_rows(database_stream& stream) {
  std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
  while (auto batch = stream.next()) {
    EXPECT_GT(batch->num_rows(), 0);
    EXPECT_TRUE(batch->ValidateFull().ok());
    EXPECT_LE(arrow::util::ReferencedBufferSize(*batch).ValueOrDie(),
              database_batch_bytes);
    batches.push_back(std::move(batch));
  }
  return batches.empty()
             ? nullptr
             : arrow::Table::FromRecordBatches(batches).ValueOrDie();
}

std::string row_text(const arrow::Table& table, int64_t row) {
  std::string out;
  for (const auto& column : table.columns()) {
    const auto value = column->GetScalar(row).ValueOrDie();
    out += (out.empty() ? "" : "|") +
           (value->is_valid ? value->ToString() : std::string("null"));
  }
  return out;
}

std::string types_of(const arrow::Schema& schema) {
  std::string out;
  for (const auto& field : schema.fields())
    out += (out.empty() ? "" : " ") + field->type()->ToString();
  return out;
}

/// What opening, and reading all, throws.
failure database_refusal(const database_spec& spec,
                         const database_request& request = {}) {
  try {
    const auto stream = open_database(spec, request);
    while (stream->next())
      continue;
    ADD_FAILURE() << "was read without an error";
  } catch (const ballast_error& error) {
    failure out = error.what_failed();
    out.message = error.what();
    EXPECT_EQ(out.message.find('\n'), std::string::npos) << out.message;
    return out;
  }
  return {};
}

database_spec query_of(const std::string& uri, const std::string& query) {
  database_spec out;
  out.uri = uri;
  out.query = query;
  return out;
}

// -- what needs no server -----------------------------------------------------

TEST(database_uri, a_password_in_it_is_refused_and_not_repeated) {
  for (const std::string uri :
       {"postgresql://me:geheim@db/x", "postgresql://me@db/x?password=geheim",
        "postgresql://me@db/x?pass%77ord=geheim",
        "postgresql://me:ge/heim@db/x", "postgresql://me:geheim@/x?host=db",
        "postgres://me:geheim@db", "postgresql://me:gehe@im@db/x"}) {
    const failure why = database_refusal(query_of(uri, "select 1"));
    EXPECT_EQ(why.code, errc::invalid_job) << uri;
    EXPECT_EQ(why.pointer, "/data/train/uri");
    EXPECT_THAT(why.message, HasSubstr("password_env")) << uri;
    EXPECT_THAT(why.message, Not(HasSubstr("ge"
                                           "heim")));
  }
}

TEST(database_uri, what_cannot_be_read_is_refused_with_what_can) {
  for (const std::string uri :
       {"mysql://me@db/x", "postgresql://me@db", "postgresql://db:x/y",
        "sqlite:", "sqlite:///:memory:x%zz", "postgresql://db/x?host"}) {
    const failure why = database_refusal(query_of(uri, "select 1"));
    EXPECT_EQ(why.code, errc::invalid_job) << uri;
    EXPECT_THAT(why.message, HasSubstr("postgresql://USER@HOST")) << uri;
  }
}

TEST(database_uri, an_absolute_path_of_sqlite_may_have_a_slash_more) {
  for (const char* uri :
       {"sqlite:/tmp/x.db", "sqlite:///tmp/x.db", "sqlite:////tmp/x.db"})
    EXPECT_EQ(place_of_database(uri, "").path, "/tmp/x.db") << uri;
}

TEST(database_spec, a_field_that_contradicts_another_is_named) {
  database_spec spec = query_of("sqlite:/tmp/x.db", "select 1");
  spec.table = "t";
  EXPECT_EQ(database_refusal(spec).pointer, "/data/train/query");
  spec.table.clear();
  spec.partition_by = "id";
  EXPECT_EQ(database_refusal(spec).pointer, "/data/train/partition_by");
  spec.partition_by.clear();
  spec.connections = 65;
  EXPECT_EQ(database_refusal(spec).pointer, "/data/train/connections");
  spec = query_of("postgresql://me@127.0.0.1/x", "select 1");
  spec.password_env = "BALLAST_TEST_NOT_SET";
  EXPECT_THAT(database_refusal(spec).message,
              HasSubstr("BALLAST_TEST_NOT_SET is not set"));
  EXPECT_EQ(database_refusal(spec).pointer, "/data/train/password_env");
}

TEST(database_driver, one_that_is_missing_is_told_with_the_remedy) {
  try {
    open_driver(database_kind::postgresql, {"/nowhere", "/nor/here"});
    FAIL();
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().code, errc::not_in_build);
    EXPECT_THAT(error.what(), HasSubstr("/nowhere, /nor/here"));
    EXPECT_THAT(error.what(), HasSubstr("./dev setup"));
    EXPECT_THAT(error.what(), HasSubstr("adbc-driver-postgresql=="));
  }
}

TEST(database_driver, a_file_that_is_no_driver_is_told) {
  const temporary_folder folder;
  folder.write("libadbc_driver_sqlite.so", "not a library");
  try {
    open_driver(database_kind::sqlite, {folder.path().string()});
    FAIL();
  } catch (const ballast_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("cannot be loaded"));
  }
}

// -- SQLite -------------------------------------------------------------------

std::string numbers_to(int last) {
  return "(with recursive n(value) as (values (1) union all select value + 1 "
         "from n where value < " +
         std::to_string(last) + ") select value from n)";
}

class sqlite_rows : public testing::Test {
protected:
  sqlite_rows() : path_((folder_.path() / "a 1%.db").string()) {}

  void sql(const std::vector<std::string>& statements) {
    adbc_session session(driver_of(database_kind::sqlite), {{"uri", path_}});
    for (const std::string& one : statements)
      session.run(one);
  }
  std::string uri() const {
    return "sqlite://" + (folder_.path() / "a%201%25.db").string();
  }

  const temporary_folder folder_;
  const std::string path_;
};

TEST_F(sqlite_rows, types_follow_from_all_values_and_nulls_stay) {
  sql({"create table t (i integer, r real, s text, b blob, m, late, n)",
       "insert into t select null, 1, 'x' || value, x'4142', value, null, null "
       "from " +
           numbers_to(5000),
       "insert into t values (9007199254740993, 2.5, null, null, 0.5, 'at "
       "last', "
       "null)"});
  const auto stream =
      open_database(query_of(uri(), "select * from t;  \n"), {});
  EXPECT_EQ(types_of(*stream->schema()),
            "int64 double string binary double string double");
  const auto rows = all_rows(*stream);
  ASSERT_EQ(rows->num_rows(), 5001);
  EXPECT_EQ(row_text(*rows, 0), "null|1|x1|AB|1|null|null");
  EXPECT_EQ(row_text(*rows, 5000),
            "9007199254740993|2.5|null|null|0.5|at last|null");
}

TEST_F(sqlite_rows, numbers_among_text_are_read_as_text_and_said) {
  sql({"create table t (a)", "insert into t values (1), ('x'), (2.5)"});
  const auto stream = open_database(query_of(uri(), "select a from t"), {});
  EXPECT_THAT(stream->notes(), testing::ElementsAre(HasSubstr("'a'")));
  const auto rows = all_rows(*stream);
  EXPECT_EQ(row_text(*rows, 0) + row_text(*rows, 2), "12.5");
}

TEST_F(sqlite_rows, are_read_with_a_note_of_what_is_read_otherwise) {
  sql({"create table t (a, y integer, x real)",
       "insert into t values (1, 0, 2.5), ('x', 1, 3.5)"});
  source_spec spec;
  spec.format = source_format::sql;
  spec.uri = uri();
  spec.query = "select * from t";
  spec.label = "y";
  EXPECT_THAT(read_source(spec, {}).notes,
              testing::ElementsAre(HasSubstr("column 'a' holds values of "
                                             "several types")));
}

TEST_F(sqlite_rows, chosen_columns_come_in_their_order_and_that_of_the_query) {
  sql({"create table \"a \"\"b\" (x, \"y z\", w)",
       "insert into \"a \"\"b\" select value, -value, 'w' from " +
           numbers_to(20000)});
  const auto stream = open_database(
      query_of(uri(), "select * from \"a \"\"b\" order by x desc -- all"), {});
  stream->choose({1, 0});
  const auto rows = all_rows(*stream);
  ASSERT_EQ(rows->num_rows(), 20000);
  EXPECT_EQ(rows->schema()->field_names(),
            (std::vector<std::string>{"y z", "x"}));
  EXPECT_EQ(row_text(*rows, 0), "-20000|20000");
  EXPECT_EQ(row_text(*rows, 19999), "-1|1");
}

TEST_F(sqlite_rows, a_table_without_rows_has_columns_and_no_batch) {
  sql({"create table t (a, b)"});
  database_spec spec;
  spec.uri = uri();
  spec.table = "t";
  const auto stream = open_database(spec, {});
  EXPECT_EQ(stream->schema()->num_fields(), 2);
  EXPECT_EQ(stream->next(), nullptr);
}

TEST_F(sqlite_rows, a_place_counts_rows_of_the_query_from_one) {
  sql({"create table t (a)",
       "insert into t select value from " + numbers_to(200000)});
  const auto stream = open_database(query_of(uri(), "select a from t"), {});
  int64_t before = 0;
  while (const auto batch = stream->next()) {
    EXPECT_EQ(stream->place_of(2),
              "query on " + path_ + ": row " + std::to_string(before + 3));
    before += batch->num_rows();
  }
  EXPECT_EQ(before, 200000);
}

TEST_F(sqlite_rows, the_identity_changes_with_the_file_its_log_and_the_query) {
  sql({"pragma journal_mode=wal", "create table t (a)"});
  adbc_session writer(driver_of(database_kind::sqlite), {{"uri", path_}});
  auto identity = [&](const std::string& query) {
    return open_database(query_of(uri(), query), {})->identity();
  };
  const std::string first = identity("select a from t");
  EXPECT_EQ(identity("select a from t"), first);
  EXPECT_NE(identity("select a + 1 from t"), first);
  writer.run("insert into t values (1)"); // stays in the log
  EXPECT_NE(identity("select a from t"), first);
}

TEST_F(sqlite_rows, a_file_that_changes_before_its_identity_is_refused) {
  sql({"pragma journal_mode=wal", "create table t (a)"});
  const auto stream = open_database(query_of(uri(), "select a from t"), {});
  adbc_session writer(driver_of(database_kind::sqlite), {{"uri", path_}});
  writer.run("insert into t values (1)");
  EXPECT_THROW(stream->identity(), ballast_error);
}

TEST_F(sqlite_rows, mistakes_are_told_in_the_words_of_sqlite) {
  sql({"create table t (a)"});
  EXPECT_THAT(database_refusal(query_of(uri(), "select b from t")).message,
              HasSubstr("no such column: b"));
  EXPECT_THAT(database_refusal(query_of(uri(), "selec")).message,
              HasSubstr("near \"selec\": syntax error"));
  // Nothing can be written.
  EXPECT_THAT(
      database_refusal(query_of(uri(), "insert into t values (1)")).message,
      HasSubstr("readonly"));
  database_spec spec;
  spec.uri = uri();
  spec.table = "u";
  const failure why = database_refusal(spec);
  EXPECT_EQ(why.pointer, "/data/train/table");
  EXPECT_THAT(why.message, HasSubstr("no such table: u"));
}

TEST_F(sqlite_rows, a_file_that_is_none_is_told) {
  EXPECT_THAT(
      database_refusal(query_of("sqlite:///nowhere/x.db", "select 1")).message,
      HasSubstr("/nowhere/x.db"));
  std::ofstream(path_) << std::string(5000, 'x');
  EXPECT_THAT(database_refusal(query_of(uri(), "select 1")).message,
              HasSubstr("not a database"));
}

// -- PostgreSQL ---------------------------------------------------------------

class postgres_rows : public testing::Test {
protected:
  static void SetUpTestSuite() { server_ = std::make_unique<some_postgres>(); }
  static void TearDownTestSuite() { server_.reset(); }
  void SetUp() override {
    if (server_->missing)
      GTEST_SKIP() << server_->why_not;
    ASSERT_EQ(server_->why_not, "");
    server_->sql("drop schema if exists s cascade");
    server_->sql("create schema s");
  }

  database_spec query(const std::string& text) const {
    return query_of(server_->uri(), text);
  }
  database_spec table(const std::string& name, uint32_t connections) const {
    database_spec out;
    out.uri = server_->uri();
    out.table = name;
    out.connections = connections;
    return out;
  }
  /// A million rows in the table `large`, with empty places between them.
  static void make_large() {
    if (!server_->ask("select to_regclass('large')::text").empty())
      return;
    server_->sql("create table large as select i::int8 as id, (i::int8 * 7919) "
                 "% 1100009 as key, random() as x, case when i % 10 = 0 then "
                 "null else 'r' || i end as name from "
                 "generate_series(1, 1100000) i");
    server_->sql("delete from large where id % 11 = 0");
  }

  static std::unique_ptr<some_postgres> server_;
};
std::unique_ptr<some_postgres> postgres_rows::server_;

TEST_F(postgres_rows, that_change_between_two_readings_are_noticed) {
  server_->sql("create table s.t as select 1 as x");
  data_spec data;
  data.sources["in"].format = source_format::sql;
  data.sources["in"].uri = server_->uri();
  data.sources["in"].table = "s.t";
  graph::node some;
  some.what = graph::op::limit;
  some.from = {"in"};
  some.as = {"some"};
  data.graph = {some};
  const source_versions once(data, {"in"}, {});
  const source_versions twice(data, {"in", "some"}, {});
  EXPECT_NO_THROW(twice.check_unchanged());
  server_->sql("insert into s.t values (2)");
  EXPECT_NO_THROW(once.check_unchanged()) << "of one transaction";
  try {
    twice.check_unchanged();
    ADD_FAILURE() << "was not noticed";
  } catch (const ballast_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("s.t: changed while it was read"));
  }
}

TEST_F(postgres_rows, types_and_nulls_arrive_as_they_are) {
  const std::string types =
      "true::bool, 1::int2, 2::int4, 3::int8, 1.5::float4, 2.5::float8, "
      "'t'::text, 'v'::varchar(3), '\\x4142'::bytea, '2024-02-29'::date, "
      "'2024-02-29 12:00:00.5'::timestamp, '2024-02-29 12:00+00'::timestamptz, "
      "'13:14:15'::time, array[1, 2]";
  const auto stream = open_database(
      query("select * from (values (" + types + ")) t union all select " +
            "null, null, null, null, null, null, null, null, null, null, null, "
            "null, null, null"),
      {});
  EXPECT_EQ(types_of(*stream->schema()),
            "bool int16 int32 int64 float double string string binary "
            "date32[day] timestamp[us] timestamp[us, tz=UTC] time64[us] "
            "list<item: int32>");
  EXPECT_TRUE(stream->notes().empty());
  const auto rows = all_rows(*stream);
  ASSERT_EQ(rows->num_rows(), 2);
  EXPECT_EQ(row_text(*rows, 0),
            "true|1|2|3|1.5|2.5|t|v|AB|2024-02-29|2024-02-29 "
            "12:00:00.500000|2024-02-29 12:00:00.000000Z|13:14:15.000000|"
            "list<item: int32>[1, 2]");
  EXPECT_EQ(row_text(*rows, 1),
            "null|null|null|null|null|null|null|null|null|null|null|null|null|"
            "null");
}

TEST_F(postgres_rows, types_without_a_number_are_cast_and_said) {
  server_->sql("create type s.mood as enum ('fine', 'bad')");
  const auto stream = open_database(
      query(
          "select 1.25::numeric(10,2) a, 'bad'::s.mood b, '{\"k\": 1}'::jsonb "
          "c, 3000000000::oid d, array[1.5, null]::numeric[] e, "
          "'10.0.0.1'::inet f, row(1, 2) g"),
      {});
  EXPECT_EQ(types_of(*stream->schema()),
            "double string string int64 list<item: double> string string");
  EXPECT_EQ(stream->notes().size(), 7u);
  EXPECT_THAT(stream->notes()[0], HasSubstr("'a' is numeric and is read as "
                                            "float64"));
  EXPECT_EQ(row_text(*all_rows(*stream), 0),
            "1.25|bad|{\"k\": 1}|3000000000|list<item: double>[1.5, null]|"
            "10.0.0.1/32|(1,2)");
}

TEST_F(postgres_rows, names_are_quoted_and_columns_come_as_chosen) {
  server_->sql("create table s.\"T.\"\"x\" (\"a b\" int, \"C\"\"d\" numeric, "
               "\"select\" text)");
  server_->sql("insert into s.\"T.\"\"x\" values (1, 2.5, 'three')");
  const auto stream = open_database(table("s.\"T.\"\"x\"", 1), {});
  stream->choose({2, 1});
  const auto rows = all_rows(*stream);
  EXPECT_EQ(row_text(*rows, 0), "three|2.5");
  // With the very fields that the schema told.
  EXPECT_TRUE(
      rows->schema()->field(1)->Equals(*stream->schema()->field(1), true));
}

TEST_F(postgres_rows, a_place_names_the_query_host_and_database) {
  const auto stream = open_database(
      query("select i from generate_series(1, 3) i -- the end"), {});
  ASSERT_NE(stream->next(), nullptr);
  EXPECT_EQ(stream->place_of(1), "query on 127.0.0.1/postgres: row 2");
}

TEST_F(postgres_rows,
       a_million_rows_come_in_the_same_order_by_any_connections) {
  make_large();
  const auto alone = all_rows(*open_database(table("large", 1), {}));
  const auto together = all_rows(*open_database(table("large", 4), {}));
  ASSERT_EQ(alone->num_rows(), 1000000);
  EXPECT_TRUE(alone->Equals(*together));
  // And in that of a plain scan.
  const auto plain = all_rows(*open_database(query("select * from large"), {}));
  EXPECT_TRUE(alone->Equals(*plain));
}

TEST_F(postgres_rows, a_column_divides_a_query_and_orders_its_rows) {
  make_large();
  database_spec spec = query("select key, id, x from large union all select "
                             "null, -5, null");
  spec.partition_by = "key";
  const auto ordered = all_rows(*open_database(
      query("select key, id, x from large union all select null, -5, null "
            "order by key"),
      {}));
  for (const uint32_t connections : {1, 3}) {
    spec.connections = connections;
    const auto rows = all_rows(*open_database(spec, {}));
    ASSERT_EQ(rows->num_rows(), 1000001);
    EXPECT_TRUE(rows->Equals(*ordered)) << connections;
  }
}

TEST_F(postgres_rows, extreme_keys_and_a_column_of_nulls_divide_all_the_same) {
  database_spec spec =
      query("select * from (values ('-9223372036854775808'::int8), (0), "
            "(9223372036854775807), (null)) t(k)");
  spec.partition_by = "k";
  const auto rows = all_rows(*open_database(spec, {}));
  ASSERT_EQ(rows->num_rows(), 4);
  EXPECT_EQ(row_text(*rows, 0), "-9223372036854775808");
  EXPECT_EQ(row_text(*rows, 3), "null");
  spec.query = "select null::int4 as k from generate_series(1, 3)";
  EXPECT_EQ(all_rows(*open_database(spec, {}))->num_rows(), 3);
  spec.query = "select 1 as k where false";
  EXPECT_EQ(open_database(spec, {})->next(), nullptr);
}

TEST_F(postgres_rows, rows_written_meanwhile_are_not_seen_by_any_connection) {
  server_->sql("create table s.t as select i as id, repeat('x', 100) as x from "
               "generate_series(1, 200000) i");
  const auto stream = open_database(table("s.t", 3), {});
  ASSERT_NE(stream->schema(), nullptr);
  server_->sql("update s.t set id = -id");
  const auto rows = all_rows(*stream);
  ASSERT_EQ(rows->num_rows(), 200000);
  EXPECT_EQ(row_text(*rows, 0).substr(0, 2), "1|");
}

TEST_F(postgres_rows, the_identity_is_that_of_the_rows_and_of_their_order) {
  server_->sql("create table s.t as select i, i * 0.5 as x from "
               "generate_series(1, 1000) i");
  auto identity = [&](const database_spec& spec) {
    return open_database(spec, {})->identity();
  };
  const std::string first = identity(table("s.t", 1));
  EXPECT_THAT(first, HasSubstr("rows=1000"));
  EXPECT_THAT(first, Not(HasSubstr("127.0.0.1")));
  server_->sql("create table s.other (a int)"); // says nothing about s.t
  EXPECT_EQ(identity(table("s.t", 4)), first);
  EXPECT_EQ(identity(query("select * from s.t")), first);
  EXPECT_NE(identity(query("select * from s.t order by i desc")), first);
  EXPECT_NE(identity(query("select i, x as y from s.t")), first);
  server_->sql("update s.t set x = 0.25 where i = 500");
  EXPECT_NE(identity(table("s.t", 1)), first);
}

TEST_F(postgres_rows, the_identity_sees_every_column_whatever_their_names_are) {
  // Names that the statements around the query use themselves.
  auto identity = [&](const std::string& last) {
    return open_database(
               query("select 1 as h, 2 as t, 3 as p, 4 as row_number, "
                     "5 as \"h.*\", " +
                     last + " as x"),
               {})
        ->identity();
  };
  EXPECT_EQ(identity("6"), identity("6"));
  EXPECT_NE(identity("6"), identity("7"));
  EXPECT_NE(identity("0.1::float8"), identity("0.10000000000000002::float8"));
  EXPECT_NE(identity("null::text"), identity("''::text"));
  EXPECT_NE(identity("0::float8"), identity("'-0'::float8"));
}

TEST_F(postgres_rows, rows_can_be_read_after_their_identity) {
  make_large();
  const auto stream = open_database(table("large", 3), {});
  EXPECT_THAT(stream->identity(), HasSubstr("rows=1000000"));
  EXPECT_EQ(all_rows(*stream)->num_rows(), 1000000);
}

TEST_F(postgres_rows, wide_rows_come_in_batches_of_64_mib_at_most) {
  const auto rows = all_rows(*open_database(
      query("select repeat('x', 3000000) as wide from generate_series(1, 60)"),
      {})); // which checks each
  EXPECT_EQ(rows->num_rows(), 60);
}

TEST_F(postgres_rows, a_view_is_read_by_one_connection_and_that_is_said) {
  server_->sql("create view s.v as select i from generate_series(1, 10) i");
  const auto stream = open_database(table("s.v", 4), {});
  EXPECT_THAT(stream->notes(),
              testing::ElementsAre(HasSubstr("one connection")));
  EXPECT_EQ(all_rows(*stream)->num_rows(), 10);
}

TEST_F(postgres_rows, bad_sql_is_told_with_the_server_s_words_and_the_place) {
  failure why = database_refusal(query("select 1,\n  nosuch from pg_class"));
  EXPECT_EQ(why.code, errc::invalid_data);
  EXPECT_EQ(why.pointer, "/data/train/query");
  EXPECT_THAT(why.message, HasSubstr("column \"nosuch\" does not exist "
                                     "(SQLSTATE 42703), at line 2, column 3"));
  why = database_refusal(query("select 1; drop table x"));
  EXPECT_THAT(why.message, HasSubstr("multiple commands"));
  why = database_refusal(query("select 1 as a, 2 as a"));
  EXPECT_THAT(why.message, HasSubstr("two columns are called 'a'"));
  why = database_refusal(table("s.nosuch", 1));
  EXPECT_EQ(why.pointer, "/data/train/table");
  EXPECT_THAT(why.message, HasSubstr("\"s.nosuch\" does not exist"));
}

TEST_F(postgres_rows,
       a_row_that_cannot_be_computed_is_not_quoted_to_everybody) {
  const auto stream = open_database(
      query("select ('geheim' || i)::int from generate_series(1, 3) i"), {});
  try {
    stream->next();
    FAIL();
  } catch (const source_error& error) {
    EXPECT_THAT(error.what_failed().message, HasSubstr("22P02"));
    EXPECT_THAT(error.what_failed().message, Not(HasSubstr("geheim")));
    EXPECT_THAT(error.detail(), HasSubstr("geheim1"));
  }
}

TEST_F(postgres_rows, nothing_can_be_written) {
  server_->sql("create sequence s.counter");
  EXPECT_THAT(database_refusal(query("select nextval('s.counter')")).message,
              HasSubstr("25006"));
}

TEST_F(postgres_rows, a_partition_column_must_exist_and_hold_integers) {
  database_spec spec = query("select 1 as id, 'x' as name");
  spec.partition_by = "name";
  EXPECT_THAT(database_refusal(spec).message, HasSubstr("holds no integers"));
  spec.partition_by = "no";
  EXPECT_THAT(database_refusal(spec).message,
              HasSubstr("no column 'no'; there are id, name"));
  EXPECT_EQ(database_refusal(spec).pointer, "/data/train/partition_by");
}

TEST_F(postgres_rows, a_password_opens_and_a_wrong_one_is_told_at_once) {
  database_spec spec = query_of(server_->uri("guarded"), "select 1 as a");
  spec.password_env = "BALLAST_TEST_PASSWORD";
  setenv("BALLAST_TEST_PASSWORD", "open/sesame: 100%", 1);
  EXPECT_EQ(all_rows(*open_database(spec, {}))->num_rows(), 1);
  setenv("BALLAST_TEST_PASSWORD", "guess", 1);
  const failure why = database_refusal(spec);
  EXPECT_EQ(why.code, errc::unreachable);
  EXPECT_THAT(why.message, HasSubstr("127.0.0.1/postgres: "));
  EXPECT_THAT(why.message, HasSubstr("password authentication failed"));
  EXPECT_THAT(why.message, Not(HasSubstr("guess")));
  EXPECT_THAT(why.message, Not(HasSubstr("attempts")));
  unsetenv("BALLAST_TEST_PASSWORD");

  const temporary_folder folder;
  folder.write("secret", "open/sesame: 100%\n");
  spec.password_env.clear();
  spec.password_file = (folder.path() / "secret").string();
  EXPECT_EQ(all_rows(*open_database(spec, {}))->num_rows(), 1);
}

TEST_F(postgres_rows, a_server_that_is_not_there_is_tried_three_times) {
  database_request request;
  request.retry_wait = std::chrono::milliseconds(1);
  const failure why = database_refusal(
      query_of("postgresql://me@127.0.0.1:1/db", "select 1"), request);
  EXPECT_EQ(why.code, errc::unreachable);
  EXPECT_EQ(why.pointer, "/data/train/uri");
  EXPECT_THAT(why.message, HasSubstr("127.0.0.1/db in 3 attempts"));
  EXPECT_THAT(why.message, HasSubstr("Connection refused"));
}

TEST_F(postgres_rows, a_database_that_does_not_exist_is_told_at_once) {
  const failure why = database_refusal(query_of(
      "postgresql://ballast@" + server_->place() + "/nosuch", "select 1"));
  EXPECT_THAT(why.message, HasSubstr("database \"nosuch\" does not exist"));
  EXPECT_THAT(why.message, Not(HasSubstr("attempts")));
}

TEST_F(postgres_rows, a_connection_that_is_killed_ends_in_one_clear_error) {
  server_->sql("create table s.wide as select i as id, repeat('x', 500) as x "
               "from generate_series(1, 600000) i");
  for (const uint32_t connections : {1, 3}) {
    const auto stream = open_database(table("s.wide", connections), {});
    ASSERT_NE(stream->next(), nullptr);
    server_->sql("select pg_terminate_backend(pid) from pg_stat_activity where "
                 "application_name = 'ballast'");
    try {
      while (stream->next())
        continue;
      FAIL() << "everything was read";
    } catch (const ballast_error& error) {
      EXPECT_EQ(error.what_failed().code, errc::unreachable) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("table s.wide on 127.0.0.1/postgres: "
                                          "the connection to the database was "
                                          "lost after "));
    }
  }
}

TEST_F(postgres_rows, a_stop_ends_what_the_server_computes) {
  for (const bool reading : {false, true}) {
    std::stop_source stop;
    database_request request;
    request.stop = stop.get_token();
    // While it is divided, or while it is read.
    database_spec spec = query("select 1 as id, pg_sleep(600)::text as s");
    if (!reading)
      spec = query("select 1 as id from (select pg_sleep(600) as s offset 0) t "
                   "where s::text is not null");
    if (!reading)
      spec.partition_by = "id";
    std::jthread stopper([&] {
      while (server_->ask("select count(*)::int8 from pg_stat_activity where "
                          "application_name = 'ballast' and wait_event = "
                          "'PgSleep'") != "1")
        std::this_thread::yield();
      stop.request_stop();
    });
    EXPECT_EQ(database_refusal(spec, request).code, errc::stopped);
  }
}

TEST_F(postgres_rows, a_stream_that_is_not_read_to_its_end_leaves_nothing) {
  make_large();
  {
    const auto stream = open_database(table("large", 4), {});
    ASSERT_NE(stream->next(), nullptr);
  }
  // The server notices the end of a connection by itself.
  while (server_->ask("select count(*)::int8 from pg_stat_activity where "
                      "application_name = 'ballast'") != "0")
    std::this_thread::yield();
}

} // namespace
} // namespace ballast::data
