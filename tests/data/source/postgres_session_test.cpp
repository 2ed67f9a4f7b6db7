// Goal: libpq reads the rows that the driver of ADBC reads, and fails as it
// does; where libpq cannot, a stream goes on by the driver. Method: the same
// questions to a real PostgreSQL by both (skipped where it is not installed).
#include "data/source/postgres_session.hpp"

#include "data/source/copied_rows.hpp"
#include "data/source/database_errors.hpp"
#include "data/source/database_stream.hpp"
#include "data/source/libpq.hpp"
#include "data/source/postgres_parts.hpp"
#include "tests/data/some_postgres.hpp"

#include <arrow/api.h>
#include <gmock/gmock.h>

#include <thread>

namespace ballast::data {
namespace {

using testing::HasSubstr;

class postgres_both : public testing::Test {
protected:
  static void SetUpTestSuite() { server_ = std::make_unique<some_postgres>(); }
  static void TearDownTestSuite() { server_.reset(); }
  void SetUp() override {
    if (server_->missing)
      GTEST_SKIP() << server_->why_not;
    ASSERT_EQ(server_->why_not, "");
    if (!libpq_here())
      GTEST_SKIP() << "libpq is not installed (apt-get install libpq5)";
  }

  static std::string uri() {
    return server_->uri() + "?application_name=ballast";
  }
  static std::unique_ptr<postgres_session> by_libpq() {
    return std::make_unique<postgres_by_libpq>(*libpq_here(), uri());
  }
  static std::shared_ptr<arrow::Schema> schema_of(const std::string& sql) {
    std::vector<std::shared_ptr<arrow::Field>> fields;
    const auto told = postgres_by_driver(uri()).schema_of(sql);
    for (const auto& one : told->fields())
      fields.push_back(arrow::field(one->name(), one->type()));
    return arrow::schema(std::move(fields));
  }
  static std::shared_ptr<arrow::Table>
  rows_of(postgres_session& session, const std::string& sql,
          const std::shared_ptr<arrow::Schema>& schema) {
    std::vector<std::shared_ptr<arrow::RecordBatch>> batches;
    session.read(sql, schema, [&](std::shared_ptr<arrow::RecordBatch> batch) {
      EXPECT_TRUE(batch->ValidateFull().ok());
      EXPECT_GT(batch->num_rows(), 0);
      batches.push_back(std::move(batch));
      return true;
    });
    return arrow::Table::FromRecordBatches(schema, batches).ValueOrDie();
  }
  /// The rows by libpq, once they are known to be those of the driver.
  static std::shared_ptr<arrow::Table> rows_of_both(const std::string& sql) {
    const auto schema = schema_of(sql);
    EXPECT_TRUE(copied_rows::can_read(*schema)) << schema->ToString();
    postgres_by_driver driver(uri());
    auto told = rows_of(driver, sql, schema);
    auto out = rows_of(*by_libpq(), sql, schema);
    EXPECT_TRUE(out->Equals(
        *told,
        arrow::EqualOptions::Defaults().nans_equal(true).signed_zeros_equal(
            false)))
        << sql << "\n"
        << out->ToString() << told->ToString();
    return out;
  }
  /// What a question ends in, once it is known that it ends alike by both.
  static adbc_failure::parts failure_of_both(const std::string& sql,
                                             const std::string& types_of) {
    const auto schema = schema_of(types_of);
    postgres_by_driver driver(uri());
    const auto libpq = by_libpq();
    std::vector<adbc_failure::parts> said;
    for (postgres_session* one :
         {static_cast<postgres_session*>(&driver), libpq.get()})
      try {
        rows_of(*one, sql, schema);
        ADD_FAILURE() << "was read";
      } catch (const adbc_failure& failure) {
        said.push_back(failure.said());
      }
    if (said.size() != 2)
      return {};
    EXPECT_EQ(said[0].message, said[1].message);
    EXPECT_EQ(said[0].sqlstate, said[1].sqlstate);
    EXPECT_EQ(said[0].detail, said[1].detail);
    EXPECT_EQ(said[0].hint, said[1].hint);
    EXPECT_EQ(said[0].position, said[1].position);
    return said[1];
  }
  static void await(const std::string& question, const std::string& answer) {
    while (server_->ask(question) != answer)
      std::this_thread::yield();
  }

  static std::unique_ptr<some_postgres> server_;
};
std::unique_ptr<some_postgres> postgres_both::server_;

TEST_F(postgres_both, read_the_same_rows_of_every_type) {
  const auto rows = rows_of_both(
      "select i % 2 = 0 as a, (i % 30000 - 15000)::int2 as b, (i - 9)::int4 as "
      "c, i::int8 * 1000000007 as d, (i / 3.0)::float4 as e, i / 7.0::float8 "
      "as f, repeat(i::text, i % 9)::text as g, i::varchar(9) as h, "
      "i::bpchar(9) as i, chr(65 + i % 26)::\"char\" as j, i::text::name as k, "
      "decode(md5(i::text), 'hex') as l, date '2000-01-01' + (i - 50000) as m, "
      "timestamp '1990-01-01' + i * interval '1001.5 s' as n, timestamptz "
      "'2010-01-01' - i * interval '0.001 s' as o, time '00:00' + i * interval "
      "'1 ms' as p, make_interval(i % 7, -(i % 5), 0, i % 3, 0, 0, -i * 0.5) "
      "as "
      "q, array[i, null, -i] as r, array_fill(i::text, array[2, i % 3]) as s, "
      "array[i % 3 = 0, i % 2 = 0] as t, array[i * 0.5]::float8[] as u "
      "from generate_series(1, 100000) i");
  EXPECT_EQ(rows->num_rows(), 100000);
}

TEST_F(postgres_both, read_the_same_rows_where_values_are_missing) {
  std::string nulls;
  for (const char* one :
       {"i % 2 = 0", "i::int2", "i", "i::int8", "i::float4", "i::float8",
        "i::text", "i::text::bytea", "date '2000-01-01' + i",
        "timestamp '1990-01-01' + i * interval '1 s'", "i * interval '1 s'",
        "time '00:00' + i * interval '1 s'", "array[i, null]"})
    nulls += (nulls.empty()
                  ? "select case when i % 3 = 1 then "
                  : ", case "
                    "when i % " +
                        std::to_string(3 + nulls.size() % 7) + " = 1 then ") +
             one + (" end as c" + std::to_string(nulls.size()));
  rows_of_both(nulls + " from generate_series(1, 20000) i");
}

TEST_F(postgres_both, read_the_same_values_at_the_ends_of_their_ranges) {
  rows_of_both("select '-32768'::int2 a, '-2147483648'::int4 b, "
               "'-9223372036854775808'::int8 c, 'NaN'::float4 d, "
               "'-Infinity'::float8 e, '-0'::float8 f, '' g, ''::bytea h, "
               "'4713-01-01 BC'::date i, '4713-01-01 BC'::timestamp j, "
               "'23:59:59.999999'::time k, '{}'::int4[] l, '{}'::text[] m "
               "union all select '32767', '2147483647', '9223372036854775807', "
               "'1e-45', 'NaN', '5e-324', 'Grüße', '\\x00ff', '5874897-12-31', "
               "'294276-12-31', '00:00', '{null}', '{{a,b},{c,null}}'");
  rows_of_both("select 'infinity'::date a, 'infinity'::timestamp b, "
               "'infinity'::timestamptz c union all select '-infinity', "
               "'-infinity', '-infinity'");
}

TEST_F(postgres_both, read_no_rows_and_wide_rows_and_many_batches) {
  EXPECT_EQ(rows_of_both("select 1 as a where false")->num_rows(), 0);
  rows_of_both("select i, repeat('wide', i * 200000) as x from "
               "generate_series(0, 20) i");
  EXPECT_GT(rows_of_both("select i::int8 as i from generate_series(1, 1000000) "
                         "i")
                ->column(0)
                ->num_chunks(),
            1);
}

TEST_F(postgres_both, fail_with_the_same_words) {
  adbc_failure::parts said = failure_of_both(
      "select 10 / (i - 50000) as a from generate_series(1, 100000) i",
      "select 1 as a");
  EXPECT_EQ(said.sqlstate, "22012");
  said = failure_of_both("select nosuch as a", "select 1 as a");
  EXPECT_EQ(said.sqlstate, "42703");
  said = failure_of_both("select mood('x') as a", "select 1 as a");
  EXPECT_THAT(said.hint, HasSubstr("might need to add explicit type casts"));
  server_->sql("create or replace function refuse() returns int language "
               "plpgsql as $$ begin raise 'no' using detail = 'why', hint = "
               "'how', errcode = 'XX123'; end $$");
  said = failure_of_both("select refuse() as a", "select 1 as a");
  EXPECT_EQ(said.detail, "why");
}

TEST_F(postgres_both, refuse_an_interval_that_nanoseconds_cannot_count) {
  const auto schema = schema_of("select interval '1 s' as a");
  postgres_by_driver driver(uri());
  const auto libpq = by_libpq();
  for (postgres_session* one :
       {static_cast<postgres_session*>(&driver), libpq.get()})
    try {
      rows_of(*one, "select make_interval(secs => 1e12) as a", schema);
      FAIL() << "was read";
    } catch (const adbc_failure& failure) {
      EXPECT_THAT(failure.what(), HasSubstr("[libpq] Interval with time value "
                                            "1000000000000000000 usec would "
                                            "overflow when converting to "
                                            "nanoseconds"));
    }
}

TEST_F(postgres_both, say_the_same_of_a_server_that_lets_nobody_in) {
  const std::string nowhere = "postgresql://me@127.0.0.1:1/db";
  std::string by_driver;
  std::string by_libpq;
  try {
    postgres_by_driver one(nowhere);
  } catch (const adbc_failure& failure) {
    by_driver = failure.said().message;
  }
  try {
    postgres_by_libpq one(*libpq_here(), nowhere);
  } catch (const adbc_failure& failure) {
    by_libpq = failure.said().message;
    EXPECT_TRUE(may_connect_later(failure));
  }
  EXPECT_THAT(by_driver, HasSubstr("Connection refused"));
  EXPECT_EQ(by_libpq.substr(0, by_libpq.find('\n')),
            by_driver.substr(0, by_driver.find('\n')));
}

TEST_F(postgres_both, are_cancelled_by_another_thread) {
  const auto session = by_libpq();
  session->cancel(); // nothing is under way
  std::jthread canceller([&] {
    await("select count(*)::int8 from pg_stat_activity where application_name "
          "= 'ballast' and wait_event = 'PgSleep'",
          "1");
    session->cancel();
  });
  const auto schema = schema_of("select 1 as a");
  try {
    rows_of(*session, "select 1 as a from pg_sleep(600)", schema);
    FAIL() << "was read";
  } catch (const adbc_failure& failure) {
    EXPECT_TRUE(failure.is("57014"));
  }
}

TEST_F(postgres_both, know_a_connection_that_is_lost_amid_rows) {
  const auto session = by_libpq();
  const auto schema = schema_of("select 1::int8 as a");
  int batches = 0;
  try {
    session->read("select i * 10000::int8 + j as a from generate_series(1, "
                  "10000) i, generate_series(1, 10000) j",
                  schema, [&](std::shared_ptr<arrow::RecordBatch>) {
                    if (batches++ == 0)
                      server_->sql("select pg_terminate_backend(pid) from "
                                   "pg_stat_activity where application_name = "
                                   "'ballast'");
                    return true;
                  });
    FAIL() << "was read";
  } catch (const adbc_failure& failure) {
    EXPECT_TRUE(is_lost(failure)) << failure.what();
  }
}

TEST_F(postgres_both, refuse_rows_of_other_columns_than_they_were_told) {
  const auto schema = schema_of("select 1::int8 as a");
  EXPECT_THROW(rows_of(*by_libpq(), "select 1::int4 as a", schema),
               adbc_failure);
}

// It would read the whole catalogue of types when it connects.
TEST_F(postgres_both, know_columns_without_the_types_that_a_server_lists) {
  server_->sql("create type mood as enum ('a', 'b')");
  server_->sql("create domain positive as int check (value > 0)");
  server_->sql("create domain words as text[]");
  server_->sql("create type pair as (x int, y text)");
  server_->sql(
      "create table typed (c1 mood, c2 positive, c3 words, c4 pair, c5 "
      "int4range, c6 name, c7 mood[], c8 positive[], c9 pair[], c10 jsonb, c11 "
      "numeric, c12 varchar(3)[], c13 oid, c14 oid[], c15 uuid, c16 xml, c17 "
      "tsvector, c18 inet, c19 bit(3), c20 varbit, c21 money, c22 int2vector, "
      "c23 regtype, c24 point, c25 xid, c26 json, c27 cidr, c28 macaddr, c29 "
      "bpchar(3), c30 timetz, c31 pg_lsn, c32 \"char\", c33 bool[], c34 "
      "interval[], c35 numeric[], c36 timestamptz[], c37 cid, c38 bytea[], c39 "
      "date, c40 time, c41 float4[], c42 int8[], c43 tid, c44 box, c45 path)");
  adbc_session listed(driver_of(database_kind::postgresql), {{"uri", uri()}});
  const std::string all = "select * from typed";
  const auto told = listed.schema_of(all);
  const auto known = postgres_by_driver(uri()).schema_of(all);
  ASSERT_EQ(known->num_fields(), told->num_fields());
  for (int i = 0; i < told->num_fields(); ++i) {
    const column_reading expected = reading_of(*told->field(i));
    const column_reading found = reading_of(*known->field(i));
    EXPECT_EQ(found.cast, expected.cast) << i + 1;
    // Only the names of types that are not PostgreSQL's own are missing.
    if (found.note.find("of a type of its own") == std::string::npos) {
      EXPECT_EQ(found.note, expected.note) << i + 1;
    } else {
      EXPECT_EQ(found.cast, "::text") << i + 1;
    }
    if (expected.cast.empty()) {
      EXPECT_TRUE(known->field(i)->type()->Equals(*told->field(i)->type()))
          << known->field(i)->ToString() << told->field(i)->ToString();
    }
  }
}

TEST_F(postgres_both, answer_with_text_or_nothing) {
  const auto session = by_libpq();
  const auto row = session->first_row("select 7::int8, null::text, ''");
  ASSERT_EQ(row.size(), 3u);
  EXPECT_EQ(row[0], "7");
  EXPECT_EQ(row[1], std::nullopt);
  EXPECT_EQ(row[2], "");
  EXPECT_TRUE(session->first_row("select 1 where false").empty());
  EXPECT_THROW(session->run("nonsense"), adbc_failure);
}

// -- a stream, which chooses between them -------------------------------------

int64_t count_of(database_stream& stream) {
  int64_t rows = 0;
  while (const auto batch = stream.next())
    rows += batch->num_rows();
  return rows;
}

TEST_F(postgres_both, are_no_more_connections_than_asked_for_once_rows_come) {
  server_->sql("create table held as select i from generate_series(1, 500000) "
               "i");
  for (const uint32_t connections : {1, 3}) {
    database_spec spec;
    spec.uri = server_->uri();
    spec.table = "held";
    spec.connections = connections;
    const auto stream = open_database(spec, {});
    ASSERT_NE(stream->next(), nullptr);
    await("select count(*)::int8 from pg_stat_activity where application_name "
          "= 'ballast'",
          std::to_string(connections));
    // Nobody may empty a table that is being read.
    EXPECT_NE(server_->ask("select count(*)::int8 from pg_locks where relation "
                           "= 'held'::regclass and mode = 'AccessShareLock'"),
              "0");
    EXPECT_GT(count_of(*stream), 0);
  }
}

TEST_F(postgres_both, take_turns_where_only_one_connection_is_allowed) {
  server_->sql("create role alone login connection limit 1");
  database_spec spec;
  spec.uri = server_->uri("alone");
  spec.query = "select i from generate_series(1, 10) i";
  const auto stream = open_database(spec, {});
  EXPECT_THAT(stream->identity(), HasSubstr("rows=10"));
  EXPECT_EQ(count_of(*stream), 10);
}

TEST_F(postgres_both, take_turns_where_only_the_driver_understands_the_uri) {
  database_spec spec;
  // Of PostgreSQL 17, as that in the driver.
  spec.uri = server_->uri() + "?sslnegotiation=postgres";
  spec.query = "select i from generate_series(1, 10) i";
  EXPECT_EQ(count_of(*open_database(spec, {})), 10);
}

TEST(libpq_library, is_none_where_the_file_is_another_one_or_missing) {
  EXPECT_EQ(open_libpq("libnosuch.so.5"), nullptr);
  EXPECT_EQ(open_libpq("libc.so.6"), nullptr);
}

} // namespace
} // namespace ballast::data
