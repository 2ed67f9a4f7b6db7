#include "data/store/chunk_store.hpp"
#include "data/transfer/chunk_service.hpp"
#include "data/transfer/flight_ticket.hpp"
#include "runtime/base/errors.hpp"
#include "tests/data/some_chunks.hpp"

#include <arpa/inet.h>
#include <atomic>
#include <condition_variable>
#include <gmock/gmock.h>
#include <map>
#include <mutex>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>

namespace ballast::data {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

const ledger::row_shape row = shape_of(ledger::stored_type::uint8, 50, 3);

ledger::chunk_info info_of(const chunk& what) {
  ledger::chunk_info out;
  out.id = what.id;
  out.rows = what.rows;
  out.checksum = checksum(what, row);
  return out;
}

class chunk_flight : public testing::Test {
protected:
  void SetUp() override {
    if (under_thread_sanitizer)
      GTEST_SKIP() << "gRPC is not built for the thread sanitizer";
  }
};

/// A store with `count` chunks and a service for it.
struct origin {
  chunk_store store{1 << 24};
  std::vector<ledger::chunk_info> infos;
  std::map<std::string, std::string> blobs;
  std::unique_ptr<chunk_service> service;

  explicit origin(uint32_t count, const std::string& token = "secret") {
    for (uint32_t id = 0; id < count; ++id) {
      const chunk_ptr made = some_chunk<uint8_t>(id, 20 + id % 3, row);
      infos.push_back(info_of(*made));
      store.put(data_part::train, made);
    }
    service = chunk_service::start(
        "127.0.0.1", 0, token,
        [this](data_part part, chunk_id id) { return store.find(part, id); },
        [this](const std::string& name) -> std::optional<std::string> {
          const auto found = blobs.find(name);
          return found == blobs.end() ? std::nullopt
                                      : std::optional(found->second);
        });
  }
};

template <class Call>
failure failure_of(Call call) {
  try {
    call();
  } catch (const ballast_error& error) {
    return error.what_failed();
  }
  return {};
}

std::vector<chunk_ptr> fetch_all(chunk_client& client,
                                 const std::vector<ledger::chunk_info>& infos) {
  std::vector<chunk_ptr> out;
  client.fetch(data_part::train, infos, row, 10s,
               [&](chunk_ptr chunk) { out.push_back(std::move(chunk)); });
  return out;
}

TEST_F(chunk_flight, moves_chunks_unchanged_in_the_order_asked_for) {
  origin from(7);
  auto client = chunk_client::connect(from.service->address(), "secret", 10s);
  const std::vector<ledger::chunk_info> asked{from.infos[5], from.infos[0],
                                              from.infos[1], from.infos[6]};
  const std::vector<chunk_ptr> got = fetch_all(*client, asked);
  ASSERT_EQ(got.size(), asked.size());
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i]->id, asked[i].id);
    EXPECT_EQ(got[i]->rows, asked[i].rows);
    EXPECT_EQ(checksum(*got[i], row), asked[i].checksum);
    EXPECT_EQ(got[i]->sample_ids[3], 1000 * value(asked[i].id) + 3);
  }
  EXPECT_TRUE(fetch_all(*client, {}).empty());
}

TEST_F(chunk_flight, moves_single_rows_in_the_order_asked_for) {
  origin from(7);
  auto client = chunk_client::connect(from.service->address(), "secret", 10s);
  const std::vector<ledger::row_ref> asked{
      {chunk_id{5}, 3}, {chunk_id{0}, 19}, {chunk_id{5}, 0}, {chunk_id{5}, 3}};
  const chunk_ptr got =
      client->fetch_rows(data_part::train, asked, row, bulk_watch{10s});
  ASSERT_EQ(got->rows, asked.size());
  for (size_t i = 0; i < asked.size(); ++i) {
    const uint32_t id = value(asked[i].chunk);
    EXPECT_EQ(got->sample_ids[i], 1000 * id + asked[i].row);
    EXPECT_EQ(got->labels[i], int32_t(asked[i].row % 3));
    const auto* values = static_cast<const uint8_t*>(got->features);
    EXPECT_EQ(values[i * 50 + 2], (id * 31 + asked[i].row * 7 + 2) % 251);
  }
}

TEST_F(chunk_flight, names_a_row_that_no_chunk_has) {
  origin from(2);
  auto client = chunk_client::connect(from.service->address(), "secret", 10s);
  const std::vector<ledger::row_ref> beyond{{chunk_id{1}, 21}};
  const failure found = failure_of([&] {
    client->fetch_rows(data_part::train, beyond, row, bulk_watch{10s});
  });
  EXPECT_EQ(found.code, errc::unreachable);
  EXPECT_THAT(found.message, HasSubstr("row 21 of chunk 1"));
  const std::vector<ledger::row_ref> nowhere{{chunk_id{9}, 0}};
  EXPECT_THAT(failure_of([&] {
                client->fetch_rows(data_part::train, nowhere, row,
                                   bulk_watch{10s});
              }).message,
              HasSubstr("chunk 9"));
}

TEST_F(chunk_flight, refuses_more_rows_than_a_request_may_name) {
  flight_ticket ticket;
  ticket.token = "secret";
  ticket.rows.resize(flight_ticket::rows_max + 1);
  std::string why;
  EXPECT_FALSE(decode_ticket(encode(ticket), why));
  EXPECT_THAT(why, HasSubstr("rows"));
}

TEST_F(chunk_flight, serves_several_clients_at_once) {
  origin from(40);
  std::vector<std::thread> threads;
  std::atomic<size_t> chunks{0};
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      auto client =
          chunk_client::connect(from.service->address(), "secret", 10s);
      chunks += fetch_all(*client, from.infos).size();
      chunks += fetch_all(*client, from.infos).size();
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(chunks, 3u * 2 * 40);
}

TEST_F(chunk_flight, names_a_chunk_that_it_does_not_hold) {
  origin from(3);
  auto client = chunk_client::connect(from.service->address(), "secret", 10s);
  from.store.drop(data_part::train, chunk_id{1});
  std::vector<uint32_t> arrived;
  const failure missing = failure_of([&] {
    client->fetch(data_part::train, from.infos, row, 10s, [&](chunk_ptr chunk) {
      arrived.push_back(value(chunk->id));
    });
  });
  EXPECT_EQ(missing.code, errc::unreachable);
  EXPECT_THAT(missing.message, HasSubstr("chunk 1 of train"));
  EXPECT_THAT(missing.message, HasSubstr(from.service->address()));
  EXPECT_EQ(arrived, std::vector<uint32_t>{0});
  // The connection is good for more.
  EXPECT_EQ(fetch_all(*client, {from.infos[2]}).size(), 1u);
}

// Method: the service hands out another chunk's bytes the first time.
TEST_F(chunk_flight, fetches_a_damaged_chunk_once_more) {
  const std::vector<chunk_ptr> good{some_chunk<uint8_t>(0, 20, row),
                                    some_chunk<uint8_t>(1, 20, row)};
  std::atomic<int> damage{0};
  std::atomic<int> reads{0};
  auto service = chunk_service::start("127.0.0.1", 0, "t",
                                      [&](data_part, chunk_id id) {
                                        ++reads;
                                        if (id == chunk_id{1} && damage-- > 0)
                                          return good[0];
                                        return good[value(id)];
                                      },
                                      {});
  auto client = chunk_client::connect(service->address(), "t", 10s);
  const std::vector<ledger::chunk_info> infos{info_of(*good[0]),
                                              info_of(*good[1])};
  damage = 1;
  std::vector<chunk_ptr> got;
  std::vector<chunk_id> damaged;
  client->fetch(
      data_part::train, infos, row, 10s,
      [&](chunk_ptr chunk) { got.push_back(std::move(chunk)); },
      [&](const ledger::chunk_info& one) { damaged.push_back(one.id); });
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(checksum(*got[1], row), infos[1].checksum);
  EXPECT_EQ(damaged, std::vector<chunk_id>{chunk_id{1}});
  EXPECT_EQ(reads, 3) << "each chunk is looked for once a stream";

  damage = 100;
  const failure twice = failure_of([&] { fetch_all(*client, infos); });
  EXPECT_EQ(twice.code, errc::invalid_data);
  EXPECT_THAT(twice.message, HasSubstr("chunk 1 of train"));
  EXPECT_THAT(twice.message, HasSubstr(service->address()));
  EXPECT_THAT(twice.message, HasSubstr(infos[1].checksum));
}

TEST_F(chunk_flight, tells_what_arrived_damaged_before_the_stream_broke_off) {
  const chunk_ptr good = some_chunk<uint8_t>(0, 20, row);
  const chunk_ptr other = some_chunk<uint8_t>(1, 20, row);
  auto service = chunk_service::start("127.0.0.1", 0, "t",
                                      [&](data_part, chunk_id id) {
                                        return id == chunk_id{0}
                                                   ? damaged_copy(*good)
                                                   : nullptr;
                                      },
                                      {});
  auto client = chunk_client::connect(service->address(), "t", 10s);
  std::vector<chunk_id> damaged;
  const failure broken = failure_of([&] {
    client->fetch(
        data_part::train, std::vector{info_of(*good), info_of(*other)}, row,
        10s, [](chunk_ptr) { FAIL() << "handed on"; },
        [&](const ledger::chunk_info& one) { damaged.push_back(one.id); });
  });
  EXPECT_EQ(broken.code, errc::unreachable);
  EXPECT_EQ(damaged, std::vector<chunk_id>{chunk_id{0}});
}

TEST_F(chunk_flight, takes_a_chunk_of_another_shape_for_damage) {
  origin from(1);
  auto client = chunk_client::connect(from.service->address(), "secret", 10s);
  const ledger::row_shape other = shape_of(ledger::stored_type::uint8, 49, 3);
  const failure wrong = failure_of([&] {
    client->fetch(data_part::train, from.infos, other, 10s,
                  [](chunk_ptr) { FAIL() << "handed on"; });
  });
  EXPECT_EQ(wrong.code, errc::invalid_data);
}

TEST_F(chunk_flight, refuses_another_runs_token) {
  origin from(1);
  const failure refused = failure_of(
      [&] { chunk_client::connect(from.service->address(), "guess", 10s); });
  EXPECT_EQ(refused.code, errc::unreachable);
  EXPECT_THAT(refused.message, HasSubstr("another run"));
}

TEST_F(chunk_flight, says_when_nothing_answers) {
  std::string address;
  {
    origin from(1);
    address = from.service->address();
  }
  const failure gone =
      failure_of([&] { chunk_client::connect(address, "secret", 5s); });
  EXPECT_EQ(gone.code, errc::unreachable);
  EXPECT_THAT(gone.message, HasSubstr(address));
}

// Method: a socket that accepts and never speaks.
TEST_F(chunk_flight, gives_up_on_a_silent_peer_at_the_deadline) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof(at)), 0);
  ASSERT_EQ(listen(listener, 4), 0);
  socklen_t size = sizeof(at);
  getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size);
  const std::string address = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  const failure silent =
      failure_of([&] { chunk_client::connect(address, "secret", 200ms); });
  EXPECT_EQ(silent.code, errc::unreachable);
  EXPECT_THAT(silent.message, HasSubstr("no answer within 200 ms"));
  close(listener);
}

// Method: a finder that blocks until the client has given up.
TEST_F(chunk_flight, gives_up_on_a_source_from_which_nothing_comes) {
  constexpr uint32_t rows = 6000; // too large to share a message
  std::atomic<bool> given_up{false};
  std::vector<ledger::chunk_info> infos;
  for (uint32_t id = 0; id < 3; ++id) {
    infos.push_back(info_of(*some_chunk<uint8_t>(id, rows, row)));
    infos.back().bytes = 1'000'000;
  }
  auto service =
      chunk_service::start("127.0.0.1", 0, "t",
                           [&](data_part, chunk_id id) {
                             if (value(id) == 2)
                               given_up.wait(false);
                             return some_chunk<uint8_t>(value(id), rows, row);
                           },
                           {});
  auto client = chunk_client::connect(service->address(), "t", 10s);
  size_t arrived = 0;
  const failure stalled = failure_of([&] {
    client->fetch(data_part::train, infos, row, 200ms,
                  [&](chunk_ptr) { ++arrived; });
  });
  given_up = true;
  given_up.notify_all();
  EXPECT_EQ(arrived, 2u);
  EXPECT_EQ(stalled.code, errc::unreachable);
  EXPECT_THAT(stalled.message, HasSubstr(service->address()));
  EXPECT_THAT(stalled.message, HasSubstr("chunk 2 of train: no byte for 0."));
  EXPECT_THAT(stalled.message, HasSubstr(" of 3.0 MB had arrived after "));
  // The connection is good for more.
  EXPECT_EQ(fetch_all(*client, {infos[0]}).size(), 1u);
}

// Method: each chunk takes an eighth of the patience, all of them more than it.
TEST_F(chunk_flight, goes_on_with_a_slow_source_as_long_as_something_arrives) {
  std::mutex mutex;
  std::condition_variable never;
  const auto patience = 2s;
  auto service =
      chunk_service::start("127.0.0.1", 0, "t",
                           [&](data_part, chunk_id id) {
                             std::unique_lock lock(mutex);
                             never.wait_for(lock, patience / 8);
                             return some_chunk<uint8_t>(value(id), 5, row);
                           },
                           {});
  auto client = chunk_client::connect(service->address(), "t", 10s);
  std::vector<ledger::chunk_info> infos;
  for (uint32_t id = 0; id < 12; ++id)
    infos.push_back(info_of(*some_chunk<uint8_t>(id, 5, row)));
  size_t arrived = 0;
  uint64_t seen = 0;
  bulk_watch how(patience);
  how.progress = [&](uint64_t bytes) { seen += bytes; };
  client->fetch(data_part::train, infos, row, how,
                [&](chunk_ptr) { ++arrived; });
  EXPECT_EQ(arrived, infos.size());
  EXPECT_GE(seen, 12u * 5 * 50);
}

TEST_F(chunk_flight, breaks_off_what_is_wanted_no_more) {
  std::atomic<bool> done{false};
  auto service = chunk_service::start("127.0.0.1", 0, "t",
                                      [&](data_part, chunk_id) {
                                        done.wait(false);
                                        return chunk_ptr();
                                      },
                                      {});
  auto client = chunk_client::connect(service->address(), "t", 10s);
  const std::vector<ledger::chunk_info> infos{
      info_of(*some_chunk<uint8_t>(0, 5, row))};
  bulk_watch how(1h);
  how.given_up = [] { return true; };
  const failure ended = failure_of([&] {
    client->fetch(data_part::train, infos, row, how, [](chunk_ptr) {});
  });
  done = true;
  done.notify_all();
  EXPECT_THAT(ended.message, HasSubstr("it is wanted no more"));
}

// Method: one chunk of 9 MB, which travels in three messages.
TEST_F(chunk_flight, moves_a_chunk_that_is_larger_than_one_message) {
  const ledger::row_shape wide =
      shape_of(ledger::stored_type::float32, 30'000, 0);
  chunk_ptr large = some_chunk<float>(0, 77, wide);
  ASSERT_GT(large->bytes, 2 * bulk_message_bytes);
  auto service = chunk_service::start(
      "127.0.0.1", 0, "t", [&](data_part, chunk_id) { return large; }, {});
  auto client = chunk_client::connect(service->address(), "t", 10s);
  ledger::chunk_info info;
  info.rows = 77;
  info.bytes = large->bytes;
  info.checksum = checksum(*large, wide);
  std::vector<uint64_t> messages;
  bulk_watch how(10s);
  how.progress = [&](uint64_t bytes) { messages.push_back(bytes); };
  chunk_ptr got;
  client->fetch(data_part::train, std::vector{info, info}, wide, how,
                [&](chunk_ptr chunk) { got = std::move(chunk); });
  ASSERT_TRUE(got);
  EXPECT_EQ(checksum(*got, wide), info.checksum);
  EXPECT_EQ(got->sample_ids[76], 76u);
  EXPECT_GE(messages.size(), 6u);
  for (uint64_t bytes : messages)
    EXPECT_LE(bytes, bulk_message_bytes + 200'000);
}

TEST_F(chunk_flight, tells_what_is_damaged_there_from_what_may_pass_by) {
  for (const errc thrown : {errc::invalid_data, errc::device_failed}) {
    auto service =
        chunk_service::start("127.0.0.1", 0, "t",
                             [&](data_part, chunk_id id) -> chunk_ptr {
                               if (id == chunk_id{0})
                                 return some_chunk<uint8_t>(0, 5, row);
                               throw ballast_error(thrown, "the map is gone");
                             },
                             {});
    auto client = chunk_client::connect(service->address(), "t", 10s);
    const std::vector<ledger::chunk_info> infos{
        info_of(*some_chunk<uint8_t>(0, 5, row)),
        info_of(*some_chunk<uint8_t>(1, 5, row))};
    const std::vector<ledger::row_ref> rows{{chunk_id{1}, 2}};
    const errc expected =
        thrown == errc::invalid_data ? thrown : errc::unreachable;
    // Behind a good one, as the first of the stream, and as a row alone.
    for (const std::function<void()>& ask : std::vector<std::function<void()>>{
             [&] { fetch_all(*client, infos); },
             [&] { fetch_all(*client, {infos[1]}); },
             [&] {
               client->fetch_rows(data_part::train, rows, row, bulk_watch(10s));
             }}) {
      const failure told = failure_of(ask);
      EXPECT_EQ(told.code, expected) << told.message;
      EXPECT_THAT(told.message, HasSubstr("the map is gone"));
    }
  }
}

TEST_F(chunk_flight, refuses_a_port_that_is_taken) {
  origin first(1);
  const std::string address = first.service->address();
  const auto port = uint16_t(std::stoi(address.substr(address.rfind(':') + 1)));
  const failure taken =
      failure_of([&] { chunk_service::start("127.0.0.1", port, "t", {}, {}); });
  EXPECT_EQ(taken.code, errc::port_in_use);
  EXPECT_THAT(taken.message, HasSubstr(address));
}

TEST_F(chunk_flight, ends_at_once_and_twice) {
  origin from(2);
  from.service->shutdown(1s);
  from.service->shutdown(1s);
  EXPECT_EQ(failure_of([&] {
              chunk_client::connect(from.service->address(), "secret", 1s);
            }).code,
            errc::unreachable);
}

TEST_F(chunk_flight, moves_blobs_larger_than_one_message) {
  origin from(1);
  std::string large((size_t{40} << 20) + 12345, '\0');
  for (size_t i = 0; i < large.size(); i += 1000)
    large[i] = char(i / 1000);
  from.blobs = {{"model", large}, {"empty", ""}};
  auto client = chunk_client::connect(from.service->address(), "secret", 10s);
  EXPECT_TRUE(client->fetch_blob("model", 30s) == large);
  EXPECT_EQ(client->fetch_blob("empty", 10s), "");
  const failure unknown =
      failure_of([&] { client->fetch_blob("anchor", 10s); });
  EXPECT_EQ(unknown.code, errc::unreachable);
  EXPECT_THAT(unknown.message, HasSubstr("'anchor' is not held here"));
}

TEST(flight_ticket, survives_its_own_text) {
  std::string why;
  const auto chunks = decode_ticket(
      encode({"a \"token\"", data_part::test, {{5, 2}, {0, 1}}, ""}), why);
  ASSERT_TRUE(chunks) << why;
  EXPECT_EQ(chunks->token, "a \"token\"");
  EXPECT_EQ(chunks->part, data_part::test);
  EXPECT_EQ(chunks->chunks, (std::vector<ledger::id_run>{{5, 2}, {0, 1}}));
  const auto blob = decode_ticket(encode({"t", {}, {}, "model"}), why);
  ASSERT_TRUE(blob) << why;
  EXPECT_EQ(blob->blob, "model");
}

TEST(flight_ticket, refuses_what_is_none) {
  for (const char* text :
       {"", "{", "[]", "null", R"({"version":1})",
        R"({"version":1,"token":7,"blob":"m"})",
        R"({"version":1,"token":"t","blob":""})",
        R"({"version":2,"token":"t","blob":"m"})",
        R"({"version":1,"token":"t","part":"train"})",
        R"({"version":1,"token":"t","part":"other","chunks":[[0,1]]})",
        R"({"version":1,"token":"t","part":"train","chunks":[]})",
        R"({"version":1,"token":"t","part":"train","chunks":[[0,0]]})",
        R"({"version":1,"token":"t","part":"train","chunks":[[-1,1]]})",
        R"({"version":1,"token":"t","part":"train","chunks":[[0,4294967297]]})",
        R"({"version":1,"token":"t","part":"train","chunks":[[4294967296,1]]})",
        R"({"version":1,"token":"t","part":"train","chunks":[[0,1,2]]})"}) {
    std::string why;
    EXPECT_FALSE(decode_ticket(text, why)) << text;
    EXPECT_FALSE(why.empty());
  }
}

TEST(flight_ticket, compares_tokens_whole) {
  EXPECT_TRUE(same_token("secret", "secret"));
  EXPECT_TRUE(same_token("", ""));
  EXPECT_FALSE(same_token("secret", "secre"));
  EXPECT_FALSE(same_token("secre", "secret"));
  EXPECT_FALSE(same_token("secret", "secrex"));
}

} // namespace
} // namespace ballast::data
