/// Rows out of real Flight servers on this machine. Whatever fails, what is
/// handed on must be the rows that were asked for, each once, in the order of
/// the endpoints; and what goes wrong for good ends in one error that names the
/// place and no secret.
#include "data/source/flight_stream.hpp"

#include "data/source/flight_place.hpp"
#include "data/source/source_error.hpp"
#include "tests/data/some_chunks.hpp"
#include "tests/data/some_flight.hpp"

#include <arrow/json/from_string.h>
#include <gmock/gmock.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <future>
#include <numeric>
#include <thread>

namespace ballast::data {
namespace {

using arrow::flight::FlightStatusCode;
using arrow::flight::MakeFlightError;
using testing::HasSubstr;
using testing::Not;

const auto numbered = arrow::schema(
    {arrow::field("n", arrow::int64()), arrow::field("text", arrow::utf8())});

/// Rows `first` to `first + rows - 1`, in batches.
arrow_batches numbers_from(int64_t first, int64_t rows, int64_t at_once = 7) {
  arrow_batches out;
  for (int64_t at = 0; at < rows; at += at_once) {
    arrow::Int64Builder numbers;
    arrow::StringBuilder texts;
    for (int64_t i = at; i < std::min(rows, at + at_once); ++i) {
      EXPECT_TRUE(numbers.Append(first + i).ok());
      EXPECT_TRUE(texts.Append("t" + std::to_string(first + i)).ok());
    }
    const auto column = numbers.Finish().ValueOrDie();
    out.push_back(arrow::RecordBatch::Make(
        numbered, column->length(), {column, texts.Finish().ValueOrDie()}));
  }
  return out;
}

database_spec flight_at(const std::string& uri) {
  database_spec out;
  out.uri = uri;
  return out;
}

flight_request quickly() {
  flight_request out;
  out.retry_wait = std::chrono::milliseconds(1);
  return out;
}

std::vector<int64_t> numbers_in(database_stream& from) {
  std::vector<int64_t> out;
  while (const auto batch = from.next()) {
    EXPECT_GT(batch->num_rows(), 0);
    const auto& numbers =
        static_cast<const arrow::Int64Array&>(*batch->column(0));
    out.insert(out.end(), numbers.raw_values(),
               numbers.raw_values() + numbers.length());
  }
  return out;
}

std::vector<int64_t> read_flight(const database_spec& spec,
                                 const flight_request& how = quickly()) {
  return numbers_in(*open_flight(spec, flight_kind::flight, how));
}

std::vector<int64_t> count_from(int64_t first, int64_t rows) {
  std::vector<int64_t> out(static_cast<size_t>(rows));
  std::iota(out.begin(), out.end(), first);
  return out;
}

/// What opening, and reading all, throws.
failure flight_refusal(const database_spec& spec,
                       const flight_request& how = quickly(),
                       flight_kind kind = flight_kind::flight) {
  try {
    const auto stream = open_flight(spec, kind, how);
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

class flight_source : public testing::Test {
protected:
  void SetUp() override {
    if (under_thread_sanitizer)
      GTEST_SKIP() << "the wheel's gRPC is not built for it";
    server.schema = numbered;
  }
  some_flight server;
};

// -- what needs no server -----------------------------------------------------

TEST(flight_uri, names_server_user_and_path) {
  const flight_place one =
      place_of_flight("grpc+tls://me@db.example.org:443/a%2Fb/c", "/uri");
  EXPECT_EQ(one.location, "grpc+tls://db.example.org:443");
  EXPECT_EQ(one.name, "db.example.org:443");
  EXPECT_EQ(one.user, "me");
  EXPECT_EQ(one.path, (std::vector<std::string>{"a/b", "c"}));
  EXPECT_TRUE(one.tls);
  const flight_place two = place_of_flight("grpc://[::1]:8815", "/uri");
  EXPECT_EQ(two.location, "grpc+tcp://[::1]:8815");
  EXPECT_TRUE(two.path.empty());
  EXPECT_EQ(place_of_flight("grpc+tls://h:1/x?tls_ca_file_path=/a%20b.pem", "")
                .tls_ca_file,
            "/a b.pem");
}

TEST(flight_uri, a_password_in_it_is_refused_and_not_repeated) {
  for (const std::string uri :
       {"grpc://me:geheim@h:1/x", "grpc://me:ge/heim@h:1/x",
        "grpc+tls://me:gehe@im@h:1/x"}) {
    const failure why = flight_refusal(flight_at(uri));
    EXPECT_EQ(why.code, errc::invalid_job) << uri;
    EXPECT_EQ(why.pointer, "/data/train/uri");
    EXPECT_THAT(why.message, HasSubstr("password_env")) << uri;
    EXPECT_THAT(why.message, Not(HasSubstr("ge"
                                           "heim")));
  }
}

TEST(flight_uri, what_cannot_be_read_is_refused_with_what_can) {
  for (const std::string uri :
       {"grpc://h/x", "grpc://h:0/x", "grpc://h:65536/x", "grpc://h:1x/x",
        "grpc://:1/x", "grpc+unix:///a", "http://h:1/x", "grpc://[::1]/x",
        "grpc://h:1/x?tls_ca_file_path=/a.pem", "grpc+tls://h:1/x?token=abc",
        "grpc://h:1/x?tls_ca_file_path"}) {
    const failure why = flight_refusal(flight_at(uri));
    EXPECT_EQ(why.code, errc::invalid_job) << uri;
    EXPECT_THAT(why.message, HasSubstr("expected grpc://HOST:PORT/PATH"))
        << uri;
  }
}

TEST(flight_uri, a_field_that_does_not_belong_there_is_refused) {
  database_spec spec = flight_at("grpc://h:1/x");
  spec.query = "both";
  EXPECT_EQ(flight_refusal(spec).pointer, "/data/train/query");
  spec.query.clear();
  spec.partition_by = "n";
  EXPECT_EQ(flight_refusal(spec).pointer, "/data/train/partition_by");
  spec.partition_by.clear();
  spec.connections = 65;
  EXPECT_EQ(flight_refusal(spec).pointer, "/data/train/connections");
  EXPECT_EQ(flight_refusal(flight_at("grpc://h:1")).pointer,
            "/data/train/query");
  EXPECT_EQ(flight_refusal(flight_at("grpc://me@h:1/x")).pointer,
            "/data/train/uri");
  spec = flight_at("grpc://h:1/x");
  spec.query = "select 1";
  EXPECT_EQ(flight_refusal(spec, quickly(), flight_kind::sql).pointer,
            "/data/train/uri");
}

TEST(flight_sql, a_query_travels_as_its_command) {
  const std::string type =
      "type.googleapis.com/arrow.flight.protocol.sql.CommandStatementQuery";
  ASSERT_EQ(type.size(), 67u);
  EXPECT_EQ(statement_command("select 1"),
            "\x0a\x43" + type + "\x12\x0a\x0a\x08select 1");
  const std::string long_one(300, 'x'); // its size takes two bytes
  EXPECT_EQ(statement_command(long_one),
            "\x0a\x43" + type + "\x12\xaf\x02\x0a\xac\x02" + long_one);
}

// -- servers ------------------------------------------------------------------

TEST_F(flight_source, hands_on_its_endpoints_in_their_order) {
  some_flight second;
  some_flight third;
  std::promise<void> last_has_begun;
  std::shared_future<void> wait(last_has_begun.get_future());
  // The first one is the slowest: it waits for the last.
  std::atomic<int> connections = 1;
  server.endpoints = {{numbers_from(0, 100), {second.uri()}},
                      {numbers_from(100, 50, 50), {third.uri()}},
                      {numbers_from(150, 40), {}}};
  second.endpoints = server.endpoints;
  second.endpoints[0].begins = [&] {
    if (connections == 3)
      wait.wait();
  };
  third.endpoints = server.endpoints;
  server.endpoints[2].begins = [&] {
    if (connections == 3)
      last_has_begun.set_value();
  };
  for (const uint32_t number : {1u, 2u, 3u}) {
    connections = int(number);
    database_spec spec = flight_at(server.uri("/some/people"));
    spec.connections = number;
    EXPECT_EQ(read_flight(spec), count_from(0, 190)) << number;
  }
  EXPECT_EQ(server.path(), "/some/people");
  EXPECT_EQ(server.calls(), 3);
  EXPECT_EQ(second.calls(), 3);
  EXPECT_EQ(third.calls(), 3);
}

TEST_F(flight_source, a_command_takes_the_place_of_a_path) {
  server.endpoints = {{numbers_from(0, 10), {}}};
  database_spec spec = flight_at(server.uri());
  spec.query = "people of 2026";
  EXPECT_EQ(read_flight(spec), count_from(0, 10));
  EXPECT_EQ(server.command(), "people of 2026");
}

TEST_F(flight_source, a_query_and_a_table_are_asked_in_flight_sql) {
  server.endpoints = {{numbers_from(0, 10), {}}};
  database_spec spec = flight_at(server.uri());
  spec.query = "select * from people;";
  EXPECT_EQ(numbers_in(*open_flight(spec, flight_kind::sql, quickly())),
            count_from(0, 10));
  EXPECT_EQ(server.command(), statement_command("select * from people"));
  spec.query.clear();
  spec.table = "shop.people";
  EXPECT_EQ(numbers_in(*open_flight(spec, flight_kind::sql, quickly())),
            count_from(0, 10));
  EXPECT_EQ(server.command(),
            statement_command(R"(select * from "shop"."people")"));
}

TEST_F(flight_source, only_the_chosen_columns_are_handed_on) {
  server.endpoints = {{numbers_from(0, 10), {}}};
  const auto stream =
      open_flight(flight_at(server.uri("/p")), flight_kind::flight, quickly());
  EXPECT_EQ(stream->schema()->field_names(),
            (std::vector<std::string>{"n", "text"}));
  stream->choose({1, 0});
  const auto batch = stream->next();
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->schema()->field_names(),
            (std::vector<std::string>{"text", "n"}));
  EXPECT_THAT(stream->place_of(2), HasSubstr("/p: row 3"));
}

TEST_F(flight_source, columns_that_are_not_told_come_from_the_first_endpoint) {
  server.schema = nullptr;
  server.endpoints = {{numbers_from(0, 10), {}}, {numbers_from(10, 10), {}}};
  EXPECT_EQ(read_flight(flight_at(server.uri("/p"))), count_from(0, 20));
}

TEST_F(flight_source, a_dictionary_becomes_what_it_stands_for) {
  const auto type = arrow::dictionary(arrow::int8(), arrow::utf8());
  const auto column = arrow::json::DictArrayFromJSONString(
                          type, "[1, 0, null, 1]", R"(["a", "b"])")
                          .ValueOrDie();
  server.schema = arrow::schema({arrow::field("word", type)});
  server.endpoints = {
      {{arrow::RecordBatch::Make(server.schema, 4, {column})}, {}}};
  const auto stream =
      open_flight(flight_at(server.uri("/p")), flight_kind::flight, quickly());
  EXPECT_TRUE(stream->schema()->field(0)->type()->Equals(arrow::utf8()));
  const auto batch = stream->next();
  ASSERT_NE(batch, nullptr);
  EXPECT_EQ(batch->column(0)->GetScalar(0).ValueOrDie()->ToString(), "b");
}

TEST_F(flight_source, a_flight_without_endpoints_has_no_rows) {
  EXPECT_EQ(read_flight(flight_at(server.uri("/p"))), count_from(0, 0));
}

// -- servers that fail --------------------------------------------------------

arrow::Status away() {
  return MakeFlightError(FlightStatusCode::Unavailable, "not now");
}

TEST_F(flight_source, an_endpoint_that_fails_once_is_asked_again) {
  server.endpoints = {{numbers_from(0, 30), {}, {{0, away()}, {0, away()}}},
                      {numbers_from(30, 30), {}}};
  EXPECT_EQ(read_flight(flight_at(server.uri("/p"))), count_from(0, 60));
  EXPECT_EQ(server.calls(), 4);
}

TEST_F(flight_source, a_stream_that_breaks_off_goes_on_where_it_ended) {
  // Other batches the second time: rows are counted, not batches.
  server.endpoints = {{numbers_from(0, 50),
                       {},
                       {{3, away()}, {5, away()}},
                       numbers_from(0, 50, 11)}};
  EXPECT_EQ(read_flight(flight_at(server.uri("/p"))), count_from(0, 50));
  EXPECT_EQ(server.calls(), 3);
}

TEST_F(flight_source, other_rows_in_the_second_attempt_are_no_continuation) {
  server.endpoints = {
      {numbers_from(0, 50), {}, {{3, away()}}, numbers_from(1, 50)}};
  const failure why = flight_refusal(flight_at(server.uri("/p")));
  EXPECT_EQ(why.code, errc::invalid_data);
  EXPECT_THAT(why.message, HasSubstr("endpoint 1 of 1"));
  EXPECT_THAT(why.message, HasSubstr("sends other rows"));
  some_flight other;
  other.schema = numbered;
  other.endpoints = server.endpoints;
  other.endpoints[0].later = numbers_from(0, 20, 20); // fewer than came
  EXPECT_THAT(flight_refusal(flight_at(other.uri("/p"))).message,
              HasSubstr("sends other rows"));
}

TEST_F(flight_source, the_next_location_has_what_the_first_does_not_give) {
  some_flight other;
  std::string gone;
  {
    const some_flight ended;
    gone = ended.uri();
  }
  server.endpoints = {
      {numbers_from(0, 30), {gone, other.uri()}},
      {numbers_from(30, 5),
       {"https://example.org/x", "arrow-flight-reuse-connection://?"}}};
  other.endpoints = {{numbers_from(0, 30), {}}};
  EXPECT_EQ(read_flight(flight_at(server.uri("/p"))), count_from(0, 35));
  EXPECT_EQ(other.calls(), 1);
}

TEST_F(flight_source, an_endpoint_that_never_answers_is_named) {
  server.endpoints = {{numbers_from(0, 30), {}},
                      {numbers_from(30, 30),
                       {},
                       std::vector<played_endpoint::attempt>(9, {2, away()})}};
  const failure why = flight_refusal(flight_at(server.uri("/p")));
  EXPECT_EQ(why.code, errc::unreachable);
  EXPECT_THAT(why.message, HasSubstr("/p: endpoint 2 of 2 (127.0.0.1:"));
  EXPECT_THAT(why.message, HasSubstr("after 14 rows in 4 attempts: not now"));
}

TEST_F(flight_source, an_endpoint_at_places_that_cannot_be_read_is_named) {
  server.endpoints = {{numbers_from(0, 30), {"https://example.org/x"}}};
  const failure why = flight_refusal(flight_at(server.uri("/p")));
  EXPECT_EQ(why.code, errc::invalid_data);
  EXPECT_THAT(why.message, HasSubstr("only at https://example.org/x"));
}

TEST_F(flight_source, a_server_that_keeps_silent_is_given_up) {
  for (const size_t batches : {0u, 2u}) {
    server.endpoints = {{numbers_from(0, 30), {}}};
    server.endpoints[0].attempts.assign(99,
                                        {batches, arrow::Status::OK(), true});
    flight_request how = quickly();
    how.patience = std::chrono::milliseconds(100);
    const failure why = flight_refusal(flight_at(server.uri("/p")), how);
    EXPECT_EQ(why.code, errc::unreachable);
    EXPECT_THAT(why.message, HasSubstr("has sent nothing for"));
  }
}

TEST_F(flight_source, what_is_wanted_no_more_ends_while_a_server_is_silent) {
  server.endpoints = {
      {numbers_from(0, 30), {}, {{1, arrow::Status::OK(), true}}}};
  std::stop_source stop;
  flight_request how = quickly();
  how.stop = store::work_watch(stop.get_token());
  std::thread user([&] {
    server.wait_for_silence();
    stop.request_stop();
  });
  EXPECT_EQ(flight_refusal(flight_at(server.uri("/p")), how).code,
            errc::stopped);
  user.join();
}

TEST_F(flight_source, a_stream_that_nobody_reads_on_ends_with_its_owner) {
  server.endpoints = {
      {numbers_from(0, 30), {}, {{1, arrow::Status::OK(), true}}},
      {numbers_from(30, 30), {}}};
  const auto stream =
      open_flight(flight_at(server.uri("/p")), flight_kind::flight, quickly());
  EXPECT_NE(stream->next(), nullptr);
  server.wait_for_silence();
}

TEST_F(flight_source, an_endpoint_with_other_columns_is_refused) {
  const auto schema = arrow::schema({arrow::field("n", arrow::int32())});
  const auto column =
      arrow::json::ArrayFromJSONString(arrow::int32(), "[1]").ValueOrDie();
  server.endpoints = {{numbers_from(0, 30), {}},
                      {{arrow::RecordBatch::Make(schema, 1, {column})}, {}}};
  const failure why = flight_refusal(flight_at(server.uri("/p")));
  EXPECT_EQ(why.code, errc::invalid_data);
  EXPECT_THAT(why.message, HasSubstr("endpoint 2 of 2"));
  EXPECT_THAT(why.message, HasSubstr("other columns"));
}

TEST_F(flight_source, what_it_refuses_is_said_in_its_words) {
  server.answer = arrow::Status::KeyError("no flight of that name");
  const failure why = flight_refusal(flight_at(server.uri("/p")));
  EXPECT_EQ(why.code, errc::invalid_data);
  EXPECT_EQ(why.pointer, "/data/train/uri");
  EXPECT_THAT(why.message, HasSubstr("no flight of that name"));
  EXPECT_EQ(server.asked(), 1);
}

TEST_F(flight_source, a_server_that_is_not_there_is_named) {
  std::string gone;
  {
    const some_flight ended;
    gone = ended.uri("/p");
  }
  const failure why = flight_refusal(flight_at(gone));
  EXPECT_EQ(why.code, errc::unreachable);
  EXPECT_EQ(why.pointer, "/data/train/uri");
  EXPECT_THAT(why.message, HasSubstr("cannot be reached in 4 attempts"));
  EXPECT_THAT(why.message, HasSubstr("127.0.0.1:"));
}

// -- secrets ------------------------------------------------------------------

TEST_F(flight_source, a_token_or_a_password_opens_it_and_is_in_no_error) {
  server.endpoints = {{numbers_from(0, 10), {}}};
  const temporary_folder folder;
  const std::string file = (folder.path() / "secret").string();
  std::ofstream(file) << "geheim\n";
  setenv("BALLAST_TEST_TOKEN", "geheim", 1);
  for (const bool user : {false, true}) {
    server.authorization = user ? "Basic bWU6Z2VoZWlt" : "Bearer geheim";
    std::string uri = server.uri("/p");
    if (user)
      uri.insert(std::string("grpc://").size(), "me@");
    database_spec spec = flight_at(uri);
    EXPECT_EQ(flight_refusal(user ? flight_at(server.uri("/p")) : spec).code,
              errc::invalid_data);
    spec.password_env = "BALLAST_TEST_TOKEN";
    EXPECT_EQ(read_flight(spec), count_from(0, 10));
    spec.password_env.clear();
    spec.password_file = file;
    EXPECT_EQ(read_flight(spec), count_from(0, 10));
    // It quotes what was sent.
    server.authorization = "other";
    const failure why = flight_refusal(spec);
    EXPECT_EQ(why.code, errc::invalid_data);
    EXPECT_THAT(why.message,
                HasSubstr("access to the Flight server 127.0.0.1"));
    EXPECT_THAT(why.message, HasSubstr("password_env"));
    EXPECT_THAT(why.message, Not(HasSubstr("ge"
                                           "heim")));
    EXPECT_THAT(why.message, Not(HasSubstr("bWU6Z2VoZWlt")));
  }
  unsetenv("BALLAST_TEST_TOKEN");
}

// -- identity -----------------------------------------------------------------

TEST_F(flight_source, is_known_by_its_rows_alone) {
  const auto identity = [&] {
    return open_flight(flight_at(server.uri("/p")), flight_kind::flight,
                       quickly())
        ->identity();
  };
  server.endpoints = {{numbers_from(0, 60), {}}};
  const std::string before = identity();
  EXPECT_THAT(before, HasSubstr("flight rows=60 hash="));
  server.endpoints = {{numbers_from(0, 25, 3), {}},
                      {numbers_from(25, 35, 100), {}}};
  EXPECT_EQ(identity(), before);
  std::swap(server.endpoints[0], server.endpoints[1]);
  EXPECT_NE(identity(), before);
  server.endpoints = {{numbers_from(1, 60), {}}};
  EXPECT_NE(identity(), before);
}

TEST_F(flight_source, rows_can_be_read_after_their_identity) {
  server.endpoints = {{numbers_from(0, 60), {}}};
  const auto stream =
      open_flight(flight_at(server.uri("/p")), flight_kind::flight, quickly());
  EXPECT_THAT(stream->identity(), HasSubstr("rows=60"));
  EXPECT_EQ(numbers_in(*stream), count_from(0, 60));
  EXPECT_EQ(server.asked(), 2); // tickets may be good for once
}

} // namespace
} // namespace ballast::data
