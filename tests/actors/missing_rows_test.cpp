#include "actors/missing_rows.hpp"

#include <gtest/gtest.h>

namespace ballast::actors {
namespace {

class rows_of_a_batch : public ::testing::Test {
protected:
  /// 100 rows each; the bytes by number.
  explicit rows_of_a_batch(std::vector<uint64_t> bytes = {1000, 1 << 20,
                                                          1000}) {
    for (uint64_t one : bytes) {
      ledger::chunk_info& info = chunks_.emplace_back();
      info.id = chunk_id(uint32_t(chunks_.size() - 1));
      info.rows = 100;
      info.bytes = one;
    }
  }
  missing_rows of(std::vector<ledger::row_ref> rows, uint64_t room,
                  std::vector<size_t> here = {}) {
    std::vector<data::row_place> places(rows.size());
    for (size_t i : here)
      places[i].in = std::make_shared<const data::chunk>();
    return missing_of(rows, places, chunks_, room);
  }
  static ledger::row_ref at(uint32_t chunk, uint32_t row) {
    return {chunk_id(chunk), row};
  }
  using ids = std::vector<chunk_id>;
  using indices = std::vector<size_t>;

  std::vector<ledger::chunk_info> chunks_;
};

TEST_F(rows_of_a_batch, come_with_their_chunk_if_it_is_small) {
  const missing_rows got = of({at(2, 5), at(0, 1), at(2, 7)}, UINT64_MAX);
  EXPECT_EQ(got.chunks, (ids{chunk_id{0}, chunk_id{2}}));
  EXPECT_TRUE(got.rows.empty());
}

TEST_F(rows_of_a_batch, come_alone_of_a_large_chunk) {
  const missing_rows got = of({at(1, 5), at(0, 1), at(1, 3)}, UINT64_MAX);
  EXPECT_EQ(got.chunks, ids{chunk_id{0}});
  EXPECT_EQ(got.rows, (indices{2, 0})) << "by chunk and row";
  EXPECT_EQ(got.rows_bytes, 2 * (1 << 20) / 100);
}

TEST_F(rows_of_a_batch, bring_a_large_chunk_if_they_are_a_quarter_of_it) {
  std::vector<ledger::row_ref> rows;
  for (uint32_t row = 0; row < 25; ++row)
    rows.push_back(at(1, row));
  EXPECT_EQ(of(rows, UINT64_MAX).chunks, ids{chunk_id{1}});
  rows.pop_back();
  EXPECT_TRUE(of(rows, UINT64_MAX).chunks.empty());
}

TEST_F(rows_of_a_batch, come_alone_where_their_chunks_have_no_room) {
  const missing_rows got = of({at(0, 1), at(2, 7)}, 1500);
  EXPECT_EQ(got.chunks, ids{chunk_id{0}});
  EXPECT_EQ(got.rows, indices{1});
}

TEST_F(rows_of_a_batch, are_not_asked_for_where_they_are_here) {
  const missing_rows got = of({at(0, 1), at(1, 3)}, UINT64_MAX, {0, 1});
  EXPECT_TRUE(got.chunks.empty());
  EXPECT_TRUE(got.rows.empty());
}

} // namespace
} // namespace ballast::actors
