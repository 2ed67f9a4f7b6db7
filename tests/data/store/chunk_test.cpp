#include "data/store/chunk.hpp"
#include "tests/data/some_chunks.hpp"

#include "runtime/base/errors.hpp"

#include <arrow/api.h>
#include <gmock/gmock.h>

namespace ballast::data {
namespace {

using ::testing::HasSubstr;

std::string refusal(const ledger::row_shape& row,
                    const std::shared_ptr<arrow::RecordBatch>& batch) {
  try {
    make_chunk(chunk_id{3}, row, batch);
  } catch (const ballast_error& error) {
    EXPECT_EQ(error.what_failed().code, errc::invalid_data);
    return error.what();
  }
  return "";
}

TEST(chunk, points_into_its_record_batch) {
  const ledger::row_shape row = shape_of(ledger::stored_type::int16, 3, 4);
  const chunk_ptr chunk = some_chunk<int16_t>(2, 5, row);
  ASSERT_EQ(chunk->rows, 5u);
  const auto* values = static_cast<const int16_t*>(chunk->features);
  EXPECT_EQ(values[3 * 4 + 2], (2 * 31 + 4 * 7 + 2) % 251);
  EXPECT_EQ(chunk->labels[4], 0);
  EXPECT_EQ(chunk->targets, nullptr);
  EXPECT_EQ(chunk->sample_ids[4], 2004u);
  EXPECT_EQ(chunk->bytes, 5u * (3 * 2 + 4 + 8));
  EXPECT_TRUE(batch_of(*chunk)->ValidateFull().ok());
}

TEST(chunk, that_is_small_is_held_without_the_objects_of_its_batch) {
  for (int32_t classes : {4, 0}) {
    const ledger::row_shape row =
        shape_of(ledger::stored_type::float32, 3, classes);
    const chunk_ptr whole = some_chunk<float>(2, 5, row);
    const auto expected = batch_of(*whole);
    const std::string sum = checksum(*whole, row);
    const chunk_ptr held = compact(whole);
    EXPECT_NE(held->memory, whole->memory);
    EXPECT_TRUE(batch_of(*held)->Equals(*expected));
    EXPECT_TRUE(batch_of(*held)->ValidateFull().ok());
    EXPECT_EQ(checksum(*held, row), sum);
    EXPECT_EQ(held->bytes, 5u * (3 * 4 + 4 + 8));
  }
  const ledger::row_shape wide =
      shape_of(ledger::stored_type::float32, 100'000, 4);
  const chunk_ptr large = some_chunk<float>(2, 1, wide);
  EXPECT_EQ(compact(large), large);
}

TEST(chunk, of_a_slice_starts_at_the_slice) {
  const ledger::row_shape row = shape_of(ledger::stored_type::float32, 2, 0);
  const chunk_ptr whole = some_chunk<float>(1, 6, row);
  const chunk_ptr part =
      make_chunk(chunk_id{1}, row, batch_of(*whole)->Slice(2, 3));
  EXPECT_EQ(part->sample_ids[0], 1002u);
  EXPECT_EQ(part->targets[0], 1.0f);
  EXPECT_EQ(static_cast<const float*>(part->features)[0],
            static_cast<const float*>(whole->features)[4]);
}

TEST(chunk, refuses_columns_that_are_not_as_the_row_says) {
  const ledger::row_shape row = shape_of(ledger::stored_type::uint8, 3, 4);
  const auto batch = batch_of(*some_chunk<uint8_t>(0, 5, row));
  EXPECT_EQ(refusal(row, batch), "");
  EXPECT_THAT(refusal(shape_of(ledger::stored_type::uint8, 2, 4), batch),
              HasSubstr("chunk 3 has the columns"));
  EXPECT_THAT(refusal(shape_of(ledger::stored_type::int16, 3, 4), batch),
              HasSubstr("expected"));
  EXPECT_THAT(refusal(shape_of(ledger::stored_type::uint8, 3, 0), batch),
              HasSubstr("float"));
  // One class fewer than the labels use.
  EXPECT_THAT(refusal(shape_of(ledger::stored_type::uint8, 3, 3), batch),
              HasSubstr("label 3 in row 3, there are 3 classes"));
}

TEST(chunk, refuses_buffers_shorter_than_claimed) {
  const ledger::row_shape row = shape_of(ledger::stored_type::uint8, 3, 4);
  const auto batch = batch_of(*some_chunk<uint8_t>(0, 5, row));
  const auto claimed = arrow::RecordBatch::Make(
      batch->schema(), 6,
      std::vector<std::shared_ptr<arrow::ArrayData>>{
          batch->column_data(0), batch->column_data(1), batch->column_data(2)});
  EXPECT_THAT(refusal(row, claimed), HasSubstr("is damaged"));
}

TEST(chunk, checksum_covers_every_column) {
  const ledger::row_shape row = shape_of(ledger::stored_type::uint8, 2, 3);
  const chunk_ptr chunk = some_chunk<uint8_t>(0, 4, row);
  const std::string before = checksum(*chunk, row);
  EXPECT_EQ(before, checksum(*some_chunk<uint8_t>(0, 4, row), row));
  for (int column = 0; column < 3; ++column) {
    chunk_columns columns{
        {0, 1, 7, 8, 14, 15, 21, 22}, {0, 1, 2, 0}, {}, {0, 1, 2, 3}};
    if (column == 0)
      columns.features[3] ^= 1;
    if (column == 1)
      columns.labels[3] = 1;
    if (column == 2)
      columns.sample_ids[3] = 4;
    const chunk_ptr changed =
        make_chunk(chunk_id{0}, row, make_batch(row, std::move(columns)));
    EXPECT_NE(checksum(*changed, row), before) << column;
  }
}

} // namespace
} // namespace ballast::data
