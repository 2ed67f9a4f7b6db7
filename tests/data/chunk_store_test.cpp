#include "data/chunk_store.hpp"
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
