/// The hash of rows must not see how they came, and must see every value.
#include "data/base/rows_hash.hpp"

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gtest/gtest.h>

namespace ballast::data {
namespace {

std::shared_ptr<arrow::RecordBatch>
some_rows(const std::shared_ptr<arrow::DataType>& type,
          const std::string& json) {
  const auto column = arrow::json::ArrayFromJSONString(type, json).ValueOrDie();
  return arrow::RecordBatch::Make(arrow::schema({arrow::field("c", type)}),
                                  column->length(), {column});
}

uint64_t hash_in(const std::shared_ptr<arrow::RecordBatch>& rows,
                 int64_t at_once) {
  rows_hash out;
  for (int64_t at = 0; at < rows->num_rows(); at += at_once)
    out.update(*rows->Slice(at, at_once));
  EXPECT_EQ(out.rows(), rows->num_rows());
  return out.digest();
}

struct known_type {
  std::shared_ptr<arrow::DataType> type;
  std::string rows;
  std::string others; // one value of them is another
};

std::vector<known_type> known_types() {
  return {
      {arrow::int32(), "[1, null, 3, 4]", "[1, null, 3, 5]"},
      {arrow::float64(), "[1.5, 2, null, 0]", "[1.5, 2, 0, null]"},
      {arrow::boolean(), "[true, null, false, true]",
       "[true, null, false, false]"},
      {arrow::utf8(), R"(["ab", "c", null, ""])", R"(["a", "bc", null, ""])"},
      {arrow::large_binary(), R"(["ab", "c", null, ""])",
       R"(["ab", "c", "", null])"},
      {arrow::utf8_view(), R"(["a text that is long", "c", null])",
       R"(["a text that is lone", "c", null])"},
      {arrow::date32(), "[1, 2]", "[2, 1]"},
      {arrow::decimal128(10, 2), R"(["1.25", null])", R"(["1.26", null])"},
      {arrow::list(arrow::int8()), "[[1, 2], [], null, [3]]",
       "[[1], [2], null, [3]]"},
      {arrow::fixed_size_list(arrow::int8(), 2), "[[1, 2], null, [3, 4]]",
       "[[1, 2], null, [4, 3]]"},
      {arrow::map(arrow::utf8(), arrow::int8()), R"([[["a", 1]], null])",
       R"([[["b", 1]], null])"},
      {arrow::struct_({arrow::field("x", arrow::int8()),
                       arrow::field("y", arrow::utf8())}),
       R"([{"x": 1, "y": "a"}, null, {"x": null, "y": "b"}])",
       R"([{"x": 1, "y": "a"}, null, {"x": 0, "y": "b"}])"},
  };
}

TEST(rows_hash, sees_values_and_not_the_batches_they_come_in) {
  for (const known_type& one : known_types()) {
    SCOPED_TRACE(one.type->ToString());
    EXPECT_TRUE(can_be_hashed(*one.type));
    const auto rows = some_rows(one.type, one.rows);
    const uint64_t all = hash_in(rows, rows->num_rows());
    EXPECT_EQ(hash_in(rows, 1), all);
    EXPECT_EQ(hash_in(rows, 2), all);
    EXPECT_NE(hash_in(some_rows(one.type, one.others), 8), all);
    EXPECT_NE(hash_in(rows->Slice(1), 8), all);
  }
}

TEST(rows_hash, does_not_see_what_lies_below_a_missing_value) {
  const auto known = some_rows(arrow::int64(), "[1, null]");
  auto data = known->column(0)->data()->Copy();
  data->buffers[1] = arrow::Buffer::FromString(
      std::string(8, '\x07').replace(0, 8,
                                     std::string("\x01\0\0\0\0\0\0\0", 8)) +
      std::string(8, '\x07'));
  const auto other = arrow::RecordBatch::Make(known->schema(), 2, {data});
  EXPECT_EQ(hash_in(other, 2), hash_in(known, 2));
}

TEST(rows_hash, knows_what_it_has_no_rule_for) {
  EXPECT_FALSE(can_be_hashed(*arrow::dictionary(arrow::int8(), arrow::utf8())));
  EXPECT_FALSE(can_be_hashed(
      *arrow::list(arrow::dense_union({arrow::field("a", arrow::int8())}))));
}

} // namespace
} // namespace ballast::data
