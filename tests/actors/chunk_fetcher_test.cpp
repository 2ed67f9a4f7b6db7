// Goal: what a worker copies is whole, whoever sends rubbish or is gone, and it
// says from whom the rubbish came. Method: real chunk services that damage what
// they serve as often as told.
#include "actors/chunk_fetcher.hpp"

#include "data/transfer/chunk_service.hpp"
#include "tests/data/some_chunks.hpp"

#include <atomic>
#include <gmock/gmock.h>

namespace ballast::actors {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string token = "secret";
const ledger::row_shape row = data::shape_of(ledger::stored_type::uint8, 50, 3);

class chunk_fetching : public testing::Test {
protected:
  static constexpr uint32_t count = 4;

  /// Serves every chunk, the first ones with a flipped byte.
  struct source {
    std::atomic<int> damage{0};
    std::unique_ptr<data::chunk_service> service;
  };

  void SetUp() override {
    if (data::under_thread_sanitizer)
      GTEST_SKIP() << "gRPC is not built for the thread sanitizer";
    set_.row = row;
    for (uint32_t id = 0; id < count; ++id) {
      chunks_.push_back(data::some_chunk<uint8_t>(id, 20, row));
      ledger::chunk_info about;
      about.id = chunk_id(id);
      about.rows = 20;
      about.bytes = chunks_.back()->bytes;
      about.checksum = checksum(*chunks_.back(), row);
      set_.train.push_back(about);
      order_pieces_.push_back({about.id, 0, 20});
    }
    for (source* one : {&worker_, &origin_})
      one->service = data::chunk_service::start(
          "127.0.0.1", 0, token,
          [this, one](data::data_part, chunk_id id) {
            const data::chunk_ptr& good = chunks_.at(value(id));
            return one->damage-- > 0 ? damaged_copy(*good) : good;
          },
          {});
    self_.token = token;
    self_.origin = origin_.service->address();
  }

  chunks_fetched copy() {
    fetch_order order;
    order.number = plan_number{7};
    order.sources = {{"w2", worker_.service->address(), order_pieces_}};
    return fetch_for_plan(store_, set_, self_, order, [] { return false; });
  }

  /// What is in the store is what the manifest says.
  void expect_whole(size_t chunks) {
    EXPECT_EQ(store_.count(data::data_part::train), chunks);
    for (const ledger::chunk_info& one : set_.train)
      if (data::chunk_ptr got = store_.find(data::data_part::train, one.id)) {
        EXPECT_EQ(checksum(*got, row), one.checksum);
      }
  }

  static std::vector<std::string> sources(const chunks_fetched& of) {
    std::vector<std::string> out;
    for (const damaged_chunk& one : of.damaged)
      out.push_back(one.source + " " + to_string(one.chunk));
    return out;
  }

  std::chrono::steady_clock::time_point begun_ =
      std::chrono::steady_clock::now();
  ledger::manifest set_;
  std::vector<data::chunk_ptr> chunks_;
  std::vector<ledger::interval> order_pieces_;
  assignment self_;
  source worker_;
  source origin_;
  data::chunk_store store_{1 << 24};
};

TEST_F(chunk_fetching, counts_nothing_where_all_is_well) {
  chunks_fetched got = copy();
  EXPECT_FALSE(got.problem);
  EXPECT_EQ(got.refetched, 0u);
  EXPECT_THAT(got.damaged, IsEmpty());
  expect_whole(count);
}

TEST_F(chunk_fetching, tells_how_much_came_from_whom_and_how_long_it_took) {
  worker_.damage = 1;
  fetch_order order;
  order.number = plan_number{7};
  // One chunk a request, and a while between two of them.
  order.bytes_per_s = chunks_[0]->bytes * 4;
  order.sources = {{"w2", worker_.service->address(), order_pieces_}};
  chunks_fetched got =
      fetch_for_plan(store_, set_, self_, order, [] { return false; });
  ASSERT_EQ(got.requests.size(), count);
  uint64_t ns = 0;
  for (const chunk_request& one : got.requests) {
    EXPECT_EQ(one.source, "w2");
    EXPECT_EQ(one.bytes, chunks_[0]->bytes) << "what was damaged counts once";
    EXPECT_GT(one.ns, 0u);
    ns += one.ns;
  }
  // What it waited for the rate is not the link's doing: three times 250 ms.
  auto took = std::chrono::steady_clock::now() - begun_;
  EXPECT_LT(std::chrono::nanoseconds(ns) + std::chrono::milliseconds(100),
            took);
}

TEST_F(chunk_fetching, names_the_origin_where_it_came_from_there) {
  worker_.service->shutdown(std::chrono::seconds(1));
  chunks_fetched got = copy();
  ASSERT_EQ(got.requests.size(), 1u);
  EXPECT_EQ(got.requests[0].source, origin_name);
}

TEST_F(chunk_fetching, asks_its_source_again_for_what_arrived_damaged) {
  worker_.damage = 1;
  chunks_fetched got = copy();
  EXPECT_FALSE(got.problem);
  EXPECT_EQ(got.refetched, 1u);
  EXPECT_EQ(sources(got), std::vector<std::string>{"w2 0"});
  expect_whole(count);
}

TEST_F(chunk_fetching, asks_the_origin_where_its_source_sends_rubbish) {
  worker_.damage = 1000;
  origin_.damage = 1;
  chunks_fetched got = copy();
  EXPECT_FALSE(got.problem);
  EXPECT_EQ(got.refetched, 2 * count + 1) << "each twice, and one of those";
  EXPECT_EQ(got.damaged.size(), 2 * count + 1);
  EXPECT_EQ(got.damaged.back().source, "origin");
  expect_whole(count);
}

TEST_F(chunk_fetching, asks_the_origin_where_its_source_is_gone) {
  worker_.service->shutdown(std::chrono::seconds(1));
  chunks_fetched got = copy();
  EXPECT_FALSE(got.problem);
  EXPECT_EQ(got.refetched, 1u);
  EXPECT_THAT(got.damaged, IsEmpty());
  expect_whole(count);
}

TEST_F(chunk_fetching, keeps_nothing_that_is_damaged_everywhere) {
  worker_.damage = 1000;
  origin_.damage = 1000;
  chunks_fetched got = copy();
  EXPECT_EQ(got.problem.code, errc::invalid_data);
  EXPECT_THAT(got.problem.message, HasSubstr("chunk 0 of train"));
  EXPECT_THAT(got.problem.message, HasSubstr(self_.origin));
  expect_whole(0);
}

TEST_F(chunk_fetching, says_when_there_is_no_room_and_asks_nobody_else) {
  origin_.damage = 1000; // would show
  data::chunk_store small(chunks_[0]->bytes * 2);
  fetch_order order;
  order.sources = {{"w2", worker_.service->address(), order_pieces_}};
  chunks_fetched got =
      fetch_for_plan(small, set_, self_, order, [] { return false; });
  EXPECT_EQ(got.problem.code, errc::device_failed);
  EXPECT_THAT(got.problem.message, HasSubstr("does not fit"));
  EXPECT_EQ(got.refetched, 0u);
}

// -- a share, from the origin
// ---------------------------------------------------

TEST_F(chunk_fetching, gets_only_what_is_missing_of_a_share) {
  store_.put(data::data_part::train, chunks_[1]);
  chunk_fetcher fetcher(token, self_.origin);
  uint64_t told = 0;
  fetcher.fetch({&store_, data::data_part::train, row, set_.train},
                fetcher.origin(),
                {.purpose = "generation 1",
                 .progress = [&](uint64_t bytes) { told += bytes; }});
  expect_whole(count);
  EXPECT_EQ(fetcher.done().chunks, count - 1);
  EXPECT_GT(told, 0u);
}

TEST_F(chunk_fetching, asks_nobody_for_a_share_that_is_here) {
  for (const data::chunk_ptr& one : chunks_)
    store_.put(data::data_part::train, one);
  chunk_fetcher fetcher(token, "127.0.0.1:1"); // where nobody is
  fetcher.fetch({&store_, data::data_part::train, row, set_.train},
                fetcher.origin(), {.purpose = "generation 1"});
  EXPECT_EQ(fetcher.done().chunks, 0u);
}

TEST_F(chunk_fetching, throws_if_the_origin_sends_rubbish) {
  origin_.damage = 1000;
  chunk_fetcher fetcher(token, self_.origin);
  try {
    fetcher.fetch({&store_, data::data_part::train, row, set_.train},
                  fetcher.origin(), {.purpose = "generation 1"});
    FAIL() << "of damaged chunks";
  } catch (const ballast_error& e) {
    EXPECT_EQ(e.what_failed().code, errc::invalid_data);
  }
}

TEST_F(chunk_fetching, returns_once_it_is_given_up) {
  chunk_fetcher fetcher(token, self_.origin);
  fetcher.fetch({&store_, data::data_part::train, row, set_.train},
                fetcher.origin(),
                {.purpose = "generation 1", .given_up = [] { return true; }});
  EXPECT_EQ(store_.count(data::data_part::train), 0u);
}

} // namespace
} // namespace ballast::actors
