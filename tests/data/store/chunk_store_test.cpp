#include "data/store/chunk_store.hpp"
#include "tests/data/some_chunks.hpp"

#include "runtime/base/errors.hpp"

#include <gmock/gmock.h>
#include <thread>

namespace ballast::data {
namespace {

const ledger::row_shape row = shape_of(ledger::stored_type::uint8, 4, 3);
constexpr uint64_t row_bytes = 4 + 4 + 8;

TEST(chunk_store, finds_what_was_put_in_its_own_part) {
  chunk_store store(1 << 20);
  const chunk_ptr chunk = some_chunk<uint8_t>(7, 10, row);
  store.put(data_part::train, chunk);
  EXPECT_EQ(store.find(data_part::train, chunk_id{7}), chunk);
  EXPECT_EQ(store.find(data_part::test, chunk_id{7}), nullptr);
  EXPECT_EQ(store.find(data_part::train, chunk_id{6}), nullptr);
  EXPECT_EQ(store.find(data_part::train, chunk_id{800}), nullptr);
  EXPECT_EQ(store.count(data_part::train), 1u);
  EXPECT_EQ(store.count(data_part::test), 0u);
}

// Goal: never above the limit, and a refusal leaves everything as it was.
TEST(chunk_store, stays_within_its_limit) {
  chunk_store store(25 * row_bytes);
  store.put(data_part::train, some_chunk<uint8_t>(0, 10, row));
  store.put(data_part::test, some_chunk<uint8_t>(0, 10, row));
  EXPECT_EQ(store.bytes(), 20 * row_bytes);
  try {
    store.put(data_part::train, some_chunk<uint8_t>(1, 10, row));
    FAIL() << "the third chunk fitted";
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().code, errc::device_failed);
    EXPECT_THAT(error.what(), testing::HasSubstr("chunk 1 of train"));
    EXPECT_THAT(error.what(), testing::HasSubstr("limit of 400 bytes"));
  }
  EXPECT_EQ(store.bytes(), 20 * row_bytes);
  EXPECT_EQ(store.find(data_part::train, chunk_id{1}), nullptr);
  store.drop(data_part::test, chunk_id{0});
  store.put(data_part::train, some_chunk<uint8_t>(1, 10, row));
  EXPECT_EQ(store.bytes(), 20 * row_bytes);
}

TEST(chunk_store, counts_a_replaced_chunk_once) {
  chunk_store store(10 * row_bytes);
  store.put(data_part::train, some_chunk<uint8_t>(0, 10, row));
  store.put(data_part::train, some_chunk<uint8_t>(0, 8, row));
  EXPECT_EQ(store.bytes(), 8 * row_bytes);
  EXPECT_EQ(store.count(data_part::train), 1u);
  store.drop(data_part::train, chunk_id{0});
  store.drop(data_part::train, chunk_id{0});
  EXPECT_EQ(store.bytes(), 0u);
  EXPECT_EQ(store.count(data_part::train), 0u);
}

std::vector<uint32_t> held(const chunk_store& store) {
  std::vector<uint32_t> out;
  for (uint32_t id = 0; id < 10; ++id)
    if (store.find(data_part::train, chunk_id{id}))
      out.push_back(id);
  return out;
}

// Goal: what is used last makes room, and no chunk that is used sooner. Method:
// room for three chunks, and an order of use.
TEST(chunk_store, drops_what_is_used_last_once_it_knows_the_order) {
  using testing::ElementsAre;
  chunk_store store(35 * row_bytes);
  const auto put = [&store](uint32_t id, bool needed_now = false) {
    return store.put(data_part::train, some_chunk<uint8_t>(id, 10, row),
                     needed_now);
  };
  for (uint32_t id : {0, 1, 2})
    EXPECT_TRUE(put(id));
  EXPECT_THROW(put(3), ballast_error) << "nobody said what comes";
  const std::vector<chunk_id> first{chunk_id{1}, chunk_id{3}, chunk_id{0},
                                    chunk_id{4}, chunk_id{2}};
  store.expect(first);
  EXPECT_TRUE(put(3));
  EXPECT_THAT(held(store), ElementsAre(0, 1, 3));
  EXPECT_FALSE(put(4)) << "it is used behind all that are here";
  EXPECT_THAT(held(store), ElementsAre(0, 1, 3));
  EXPECT_TRUE(put(4, true)) << "a step waits for it";
  EXPECT_EQ(held(store).size(), 3u);
  EXPECT_THAT(held(store), testing::Contains(4));
  EXPECT_THAT(held(store), testing::Contains(1));
  // Not in the order: goes before all others.
  const std::vector<chunk_id> second{chunk_id{3}, chunk_id{4}, chunk_id{5}};
  store.expect(second);
  EXPECT_TRUE(put(5));
  EXPECT_THAT(held(store), ElementsAre(3, 4, 5));
  EXPECT_EQ(store.bytes(), 30 * row_bytes);
}

// What came behind the steps is full of hope, but a step that waits is first.
TEST(chunk_store, makes_room_for_a_step_among_what_came_for_later_ones) {
  using testing::ElementsAre;
  chunk_store store(25 * row_bytes);
  const auto put = [&store](uint32_t id, bool needed_now) {
    return store.put(data_part::train, some_chunk<uint8_t>(id, 10, row),
                     needed_now);
  };
  const std::vector<chunk_id> order{chunk_id{0}, chunk_id{1}, chunk_id{2}};
  store.expect(order);
  EXPECT_TRUE(put(2, false));
  EXPECT_TRUE(put(0, false));
  EXPECT_TRUE(put(1, true));
  EXPECT_THAT(held(store), ElementsAre(0, 1)) << "used sooner than 2";
  EXPECT_TRUE(put(7, true));
  EXPECT_THAT(held(store), ElementsAre(0, 7));
}

TEST(chunk_store, keeps_test_chunks_only_while_nothing_else_needs_the_room) {
  chunk_store store(25 * row_bytes);
  const std::vector<chunk_id> order{chunk_id{0}, chunk_id{1}};
  store.expect(order);
  EXPECT_TRUE(store.put(data_part::train, some_chunk<uint8_t>(0, 10, row)));
  for (uint32_t id : {0, 1, 2}) // an evaluation goes through them
    EXPECT_TRUE(
        store.put(data_part::test, some_chunk<uint8_t>(id, 10, row), true));
  EXPECT_EQ(store.count(data_part::train), 1u);
  EXPECT_EQ(store.count(data_part::test), 1u);
  EXPECT_TRUE(store.put(data_part::train, some_chunk<uint8_t>(1, 10, row)));
  EXPECT_EQ(store.count(data_part::test), 0u);
}

TEST(chunk_store, frees_the_memory_of_a_dropped_chunk) {
  chunk_store store(1 << 20);
  chunk_ptr chunk = some_chunk<uint8_t>(0, 10, row);
  const std::weak_ptr<const data::chunk> watched = chunk;
  store.put(data_part::train, std::move(chunk));
  EXPECT_FALSE(watched.expired());
  store.drop(data_part::train, chunk_id{0});
  EXPECT_TRUE(watched.expired());
}

// Method: four threads put, look up and drop chunks of their own; the
// sanitizers watch, and the bytes must come out even.
TEST(chunk_store, keeps_count_under_many_threads) {
  chunk_store store(1 << 20);
  std::vector<std::thread> threads;
  for (uint32_t part = 0; part < 4; ++part)
    threads.emplace_back([&store, part] {
      for (uint32_t i = 0; i < 200; ++i) {
        const uint32_t id = part * 8 + i % 8;
        store.put(data_part::train, some_chunk<uint8_t>(id, 5, row));
        EXPECT_NE(store.find(data_part::train, chunk_id(id)), nullptr);
        if (i % 2 == 1)
          store.drop(data_part::train, chunk_id(id));
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(store.count(data_part::train), 16u);
  EXPECT_EQ(store.bytes(), 16 * 5 * row_bytes);
}

} // namespace
} // namespace ballast::data
