#include "data/loader/batch.hpp"
#include "data/store/chunk_store.hpp"
#include "tests/data/some_chunks.hpp"

#include "runtime/base/errors.hpp"

#include <gmock/gmock.h>

namespace ballast::data {
namespace {

std::vector<ledger::row_ref> mixed_rows() {
  return {{chunk_id{1}, 4},
          {chunk_id{0}, 0},
          {chunk_id{1}, 0},
          {chunk_id{0}, 9},
          {chunk_id{0}, 9}};
}

template <class T>
void expect_gathered(ledger::stored_type stored, uint32_t features,
                     uint32_t classes, double scale, double offset) {
  ledger::row_shape row = shape_of(stored, features, classes);
  row.scale = scale;
  row.offset = offset;
  chunk_store store(1 << 24);
  const std::vector<chunk_ptr> chunks{some_chunk<T>(0, 10, row),
                                      some_chunk<T>(1, 5, row)};
  for (const chunk_ptr& chunk : chunks)
    store.put(data_part::train, chunk);
  batch out;
  const std::vector<ledger::row_ref> rows = mixed_rows();
  gather(store, data_part::train, row, rows, out);
  ASSERT_EQ(out.rows, rows.size());
  ASSERT_EQ(out.features.size(), rows.size() * features);
  EXPECT_EQ(out.labels.size(), classes > 0 ? rows.size() : 0);
  EXPECT_EQ(out.targets.size(), classes > 0 ? 0 : rows.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    const chunk& from = *chunks[value(rows[i].chunk)];
    const T* values =
        static_cast<const T*>(from.features) + rows[i].row * features;
    for (uint32_t j = 0; j < features; ++j)
      ASSERT_EQ(out.features[i * features + j],
                float(values[j]) * float(scale) + float(offset))
          << ballast::to_string(stored) << " row " << i << " value " << j;
    EXPECT_EQ(out.sample_ids[i], from.sample_ids[rows[i].row]);
    if (classes > 0) {
      EXPECT_EQ(out.labels[i], from.labels[rows[i].row]);
    } else {
      EXPECT_EQ(out.targets[i], from.targets[rows[i].row]);
    }
  }
}

TEST(batch, gathers_every_stored_type_in_the_order_asked_for) {
  for (uint32_t features : {1, 3, 16, 784}) {
    expect_gathered<uint8_t>(ledger::stored_type::uint8, features, 4, 1.0 / 255,
                             0);
    expect_gathered<int16_t>(ledger::stored_type::int16, features, 4, 0.5, -1);
    expect_gathered<int32_t>(ledger::stored_type::int32, features, 0, 2, 0);
    expect_gathered<float>(ledger::stored_type::float32, features, 0, 1, 0);
    expect_gathered<float>(ledger::stored_type::float32, features, 4, 0.25, 3);
  }
}

TEST(batch, is_reused_for_fewer_and_more_rows) {
  const ledger::row_shape row = shape_of(ledger::stored_type::uint8, 3, 4);
  chunk_store store(1 << 20);
  store.put(data_part::train, some_chunk<uint8_t>(0, 10, row));
  batch out;
  for (uint32_t count : {4, 1, 0, 10}) {
    std::vector<ledger::row_ref> rows;
    for (uint32_t i = 0; i < count; ++i)
      rows.push_back({chunk_id{0}, i});
    gather(store, data_part::train, row, rows, out);
    EXPECT_EQ(out.rows, count);
    EXPECT_EQ(out.features.size(), size_t{count} * 3);
    EXPECT_EQ(out.sample_ids.size(), count);
    for (uint32_t i = 0; i < count; ++i)
      EXPECT_EQ(out.sample_ids[i], i);
  }
}

TEST(batch, copies_a_range_for_evaluation) {
  const ledger::row_shape row = shape_of(ledger::stored_type::uint8, 3, 4);
  const chunk_ptr chunk = some_chunk<uint8_t>(2, 10, row);
  batch out;
  gather_range(*chunk, row, 4, 6, out);
  ASSERT_EQ(out.rows, 6u);
  EXPECT_EQ(out.sample_ids.front(), 2004u);
  EXPECT_EQ(out.sample_ids.back(), 2009u);
  EXPECT_EQ(out.labels[1], 1);
  EXPECT_EQ(out.features[3 * 5 + 1],
            static_cast<const uint8_t*>(chunk->features)[3 * 9 + 1]);
  EXPECT_THROW(gather_range(*chunk, row, 4, 7, out), ballast_error);
}

TEST(batch, names_the_chunk_or_row_that_is_not_there) {
  const ledger::row_shape row = shape_of(ledger::stored_type::uint8, 3, 4);
  chunk_store store(1 << 20);
  store.put(data_part::train, some_chunk<uint8_t>(0, 10, row));
  batch out;
  auto message = [&](ledger::row_ref asked) -> std::string {
    try {
      gather(store, data_part::train, row, std::vector{asked}, out);
    } catch (const ballast_error& error) {
      EXPECT_EQ(error.what_failed().code, errc::internal);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message({chunk_id{0}, 9}), "");
  EXPECT_THAT(message({chunk_id{5}, 0}),
              testing::HasSubstr("chunk 5 of train"));
  EXPECT_THAT(message({chunk_id{0}, 10}),
              testing::HasSubstr("row 10 of chunk 0"));
}

TEST(batch, does_not_keep_dropped_chunks_alive) {
  const ledger::row_shape row = shape_of(ledger::stored_type::uint8, 3, 4);
  chunk_store store(1 << 20);
  chunk_ptr chunk = some_chunk<uint8_t>(0, 10, row);
  const std::weak_ptr<const data::chunk> watched = chunk;
  store.put(data_part::train, std::move(chunk));
  batch out;
  gather(store, data_part::train, row,
         std::vector<ledger::row_ref>{{chunk_id{0}, 1}}, out);
  store.drop(data_part::train, chunk_id{0});
  EXPECT_TRUE(watched.expired());
}

} // namespace
} // namespace ballast::data
