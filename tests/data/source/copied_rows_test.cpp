// Goal: what PostgreSQL sends for COPY in binary becomes columns, however its
// bytes are divided, and bytes that are no such answer end in an error.
// Method: answers made by hand, of each type, split at every place and cut off
// at every place, and random damage.
#include "data/source/copied_rows.hpp"

#include "data/source/adbc_session.hpp"

#include <arrow/api.h>
#include <gmock/gmock.h>

#include <limits>
#include <random>

namespace ballast::data {
namespace {

using testing::HasSubstr;

constexpr std::string_view copy_signature{"PGCOPY\n\xff\r\n\0", 11};

/// An answer, field by field.
class copy_answer {
public:
  explicit copy_answer(uint32_t flags = 0, const std::string& extension = "") {
    bytes_ = copy_signature;
    number(flags);
    number(uint32_t(extension.size()));
    bytes_ += extension;
  }
  template <class T>
  copy_answer& number(T value) {
    for (int i = int(sizeof value) - 1; i >= 0; --i)
      bytes_ += char(uint64_t(value) >> (8 * i));
    return *this;
  }
  copy_answer& row(int fields) { return number(int16_t(fields)); }
  copy_answer& null() { return number(int32_t(-1)); }
  template <class T>
  copy_answer& value(T one) {
    number(uint32_t(sizeof one));
    return number(one);
  }
  copy_answer& value(double one) {
    uint64_t bits;
    std::memcpy(&bits, &one, sizeof bits);
    return value(bits);
  }
  copy_answer& value(float one) {
    uint32_t bits;
    std::memcpy(&bits, &one, sizeof bits);
    return value(bits);
  }
  copy_answer& value(const std::string& one) {
    number(uint32_t(one.size()));
    bytes_ += one;
    return *this;
  }
  copy_answer& value(const char* one) { return value(std::string(one)); }
  copy_answer& end() { return number(int16_t(-1)); }
  const std::string& bytes() const { return bytes_; }

private:
  std::string bytes_;
};

std::shared_ptr<arrow::Schema>
copy_schema(const std::vector<std::shared_ptr<arrow::DataType>>& types) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  for (const auto& type : types)
    fields.push_back(arrow::field("c" + std::to_string(fields.size()), type));
  return arrow::schema(std::move(fields));
}

using copy_batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

/// The batches of an answer that comes in pieces of this size.
copy_batches copied_batches(const std::shared_ptr<arrow::Schema>& schema,
                            std::string_view bytes, size_t piece = SIZE_MAX,
                            int64_t batch_bytes = 1 << 20) {
  copied_rows rows(schema, batch_bytes);
  copy_batches out;
  while (!bytes.empty()) {
    std::string_view one = bytes.substr(0, piece);
    bytes.remove_prefix(one.size());
    while (!one.empty()) {
      one.remove_prefix(rows.add(one));
      if (rows.full())
        out.push_back(rows.take());
    }
  }
  rows.check_end();
  if (auto last = rows.take())
    out.push_back(std::move(last));
  for (const auto& batch : out)
    EXPECT_TRUE(batch->ValidateFull().ok());
  return out;
}

std::string copied_text(const copy_batches& batches) {
  std::string out;
  for (const auto& batch : batches)
    for (int64_t row = 0; row < batch->num_rows(); ++row) {
      for (const auto& column : batch->columns()) {
        const auto value = column->GetScalar(row).ValueOrDie();
        out += (value->is_valid ? value->ToString() : "null") + "|";
      }
      out += "\n";
    }
  return out;
}

std::string copy_refusal(const std::shared_ptr<arrow::Schema>& schema,
                         std::string_view bytes, size_t piece = SIZE_MAX) {
  try {
    copied_batches(schema, bytes, piece);
  } catch (const adbc_failure& failure) {
    EXPECT_EQ(failure.said().sqlstate, "");
    return failure.said().message;
  }
  return "was read";
}

const std::shared_ptr<arrow::Schema> every_type = copy_schema(
    {arrow::boolean(), arrow::int16(), arrow::int32(), arrow::int64(),
     arrow::float32(), arrow::float64(), arrow::utf8(), arrow::binary(),
     arrow::date32(), arrow::timestamp(arrow::TimeUnit::MICRO),
     arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"),
     arrow::time64(arrow::TimeUnit::MICRO), arrow::month_day_nano_interval(),
     arrow::list(arrow::int32()), arrow::list(arrow::utf8())});

copy_answer& put_row_of_every_type(copy_answer& to) {
  to.row(15);
  to.value(int8_t(1)).value(int16_t(-2)).value(int32_t(-3)).value(int64_t(-4));
  to.value(1.5f).value(-2.5).value("text").value(std::string("\0b", 2));
  to.value(int32_t(8825)); // days since 2000: 2024-02-29
  to.value(int64_t(1'500'000)).value(int64_t(-1));
  to.value(int64_t(1'000'001));
  to.number(uint32_t(16)).number(int64_t(5)).number(int32_t(6));
  to.number(int32_t(7));
  to.number(uint32_t(20 + 8 + 4 + 8));
  to.number(int32_t(1)).number(int32_t(1)).number(int32_t(23));
  to.number(int32_t(3)).number(int32_t(1));
  to.value(int32_t(10)).null().value(int32_t(12));
  to.number(uint32_t(28 + 5 + 4 + 4 + 6)); // of two dimensions, 2 x 2
  to.number(int32_t(2)).number(int32_t(0)).number(int32_t(25));
  to.number(int32_t(2)).number(int32_t(1));
  to.number(int32_t(2)).number(int32_t(1));
  return to.value("a").value("").null().value("bc");
}

copy_answer answer_of_every_type() {
  copy_answer out;
  put_row_of_every_type(out);
  out.row(15);
  for (int i = 0; i < 13; ++i)
    out.null();
  out.number(uint32_t(12)); // without a dimension: empty
  out.number(int32_t(0)).number(int32_t(0)).number(int32_t(23)).null();
  put_row_of_every_type(out);
  out.end();
  return out;
}

TEST(copied_rows, of_every_type_arrive_as_they_are) {
  const std::string text =
      copied_text(copied_batches(every_type, answer_of_every_type().bytes()));
  EXPECT_THAT(text, HasSubstr("|2024-02-29|2000-01-01 00:00:01.500000|"
                              "1999-12-31 23:59:59.999999Z|00:00:01.000001|"));
  EXPECT_THAT(text, HasSubstr("true|-2|-3|-4|1.5|-2.5|text|"));
  EXPECT_THAT(text, HasSubstr("|list<item: int32>[10, null, 12]|"
                              "list<item: string>[a, , null, bc]|\n"));
  EXPECT_THAT(text, HasSubstr("\nnull|null|null|null|null|null|null|null|null|"
                              "null|null|null|null|list<item: int32>[]|null|"));
}

TEST(copied_rows, are_the_same_wherever_their_bytes_are_split) {
  const std::string bytes = answer_of_every_type().bytes();
  const copy_batches whole = copied_batches(every_type, bytes);
  ASSERT_EQ(whole.size(), 1u);
  for (size_t piece = 1; piece <= bytes.size(); ++piece) {
    const copy_batches split = copied_batches(every_type, bytes, piece);
    ASSERT_EQ(split.size(), 1u) << piece;
    EXPECT_TRUE(split[0]->Equals(*whole[0])) << piece;
  }
}

TEST(copied_rows, come_in_batches_of_the_size_that_was_asked_for) {
  copy_answer answer;
  for (int i = 0; i < 1000; ++i) {
    answer.row(2).value(int64_t(i));
    if (i % 7 == 0)
      answer.null();
    else
      answer.value(std::string(size_t(i % 50), 'x'));
  }
  const auto schema = copy_schema({arrow::int64(), arrow::utf8()});
  const std::string bytes = answer.end().bytes();
  const std::string whole = copied_text(copied_batches(schema, bytes));
  for (const size_t piece : {size_t(1), size_t(13), SIZE_MAX}) {
    const copy_batches cut = copied_batches(schema, bytes, piece, 1000);
    EXPECT_EQ(copied_text(cut), whole);
    EXPECT_GE(cut.size(), bytes.size() / 1100);
    EXPECT_LE(cut.size(), bytes.size() / 900 + 1000 / 40 + 1);
  }
  // A row that is larger than a batch is one of its own.
  EXPECT_EQ(copied_batches(schema, bytes, SIZE_MAX, 1).size(), 1000u);
}

TEST(copied_rows, of_nulls_and_bits_are_right_beyond_a_byte) {
  copy_answer answer;
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    answer.row(1);
    if (i >= 100 && i % 3 == 0) // the first null comes late
      answer.null();
    else
      answer.value(int8_t(i % 5 == 0));
    expected += (i >= 100 && i % 3 == 0) ? "null" : i % 5 ? "false" : "true";
    expected += "|\n";
  }
  const auto schema = copy_schema({arrow::boolean()});
  const copy_batches rows = copied_batches(schema, answer.end().bytes(), 5);
  EXPECT_EQ(copied_text(rows), expected);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0]->column(0)->null_count(), 66);
}

TEST(copied_rows, without_nulls_have_no_bitmap) {
  const copy_batches rows =
      copied_batches(copy_schema({arrow::int32()}),
                     copy_answer().row(1).value(int32_t(1)).end().bytes());
  EXPECT_EQ(rows.at(0)->column(0)->data()->buffers[0], nullptr);
}

TEST(copied_rows, of_none_are_no_batch) {
  const auto schema = copy_schema({arrow::int32(), arrow::utf8()});
  EXPECT_TRUE(copied_batches(schema, copy_answer().end().bytes()).empty());
}

TEST(copied_rows, behind_a_longer_header_are_read) {
  const auto schema = copy_schema({arrow::int32()});
  // The lower half of the flags says nothing that a reader must know.
  const std::string bytes = copy_answer(0xFFFF, std::string(100, 'x'))
                                .row(1)
                                .value(int32_t(7))
                                .end()
                                .bytes();
  for (const size_t piece : {size_t(1), size_t(50), SIZE_MAX})
    EXPECT_EQ(copied_text(copied_batches(schema, bytes, piece)), "7|\n");
}

TEST(copied_rows, with_an_infinite_date_run_over_as_the_driver_s_do) {
  const auto schema =
      copy_schema({arrow::date32(), arrow::timestamp(arrow::TimeUnit::MICRO)});
  const copy_batches rows =
      copied_batches(schema, copy_answer()
                                 .row(2)
                                 .value(std::numeric_limits<int32_t>::max())
                                 .value(std::numeric_limits<int64_t>::max())
                                 .end()
                                 .bytes());
  EXPECT_EQ(
      static_cast<const arrow::Date32Array&>(*rows.at(0)->column(0)).Value(0),
      std::numeric_limits<int32_t>::min() + 10956);
}

TEST(copied_rows, of_another_format_are_refused) {
  const auto schema = copy_schema({arrow::int32()});
  EXPECT_THAT(copy_refusal(schema, "1\t2\n"), HasSubstr("begins with other"));
  EXPECT_THAT(copy_refusal(schema, "P1" + std::string(17, 'x'), 1),
              HasSubstr("begins with other"));
  EXPECT_THAT(copy_refusal(schema, copy_answer(1 << 16).end().bytes()),
              HasSubstr("flags (65536)"));
  std::string long_header(copy_signature);
  long_header += std::string(4, '\0') + "\x7f\xff\xff\xff";
  EXPECT_THAT(copy_refusal(schema, long_header), HasSubstr("2147483647 more"));
}

TEST(copied_rows, with_other_fields_than_expected_are_refused) {
  const auto schema = copy_schema({arrow::int32(), arrow::utf8()});
  for (const size_t piece : {size_t(1), SIZE_MAX}) {
    for (const int fields : {0, 1, 3, -2})
      EXPECT_THAT(copy_refusal(schema,
                               copy_answer().row(fields).null().null().bytes(),
                               piece),
                  HasSubstr("fields, expected 2"));
    EXPECT_THAT(
        copy_refusal(schema,
                     copy_answer().row(2).value(int64_t(1)).null().bytes(),
                     piece),
        HasSubstr("column 'c0' has a value of 8 bytes, expected 4"));
  }
  EXPECT_THAT(copy_refusal(copy_schema({arrow::boolean()}),
                           copy_answer().row(1).value("xx").bytes()),
              HasSubstr("2 bytes, expected 1"));
  EXPECT_THAT(copy_refusal(copy_schema({arrow::month_day_nano_interval()}),
                           copy_answer().row(1).value("xx").bytes()),
              HasSubstr("2 bytes, expected 16"));
}

TEST(copied_rows, with_a_length_that_no_value_has_are_refused_at_once) {
  const auto schema = copy_schema({arrow::utf8(), arrow::utf8()});
  for (const uint32_t length : {0xFFFFFFFEu, 0x7FFFFFFFu, 0x40000000u})
    for (const size_t piece : {size_t(1), SIZE_MAX})
      EXPECT_THAT(copy_refusal(schema,
                               copy_answer().row(2).number(length).bytes(),
                               piece),
                  HasSubstr("larger than 1073741824 bytes"));
}

TEST(copied_rows, with_an_array_that_is_none_are_refused) {
  const auto schema = copy_schema({arrow::list(arrow::int32())});
  auto refused = [&](const std::vector<int32_t>& words) {
    copy_answer answer;
    answer.row(1).number(uint32_t(4 * words.size()));
    for (const int32_t word : words)
      answer.number(word);
    return copy_refusal(schema, answer.end().bytes());
  };
  EXPECT_EQ(refused({1, 0, 23, 1, 1, 4, 7}), "was read");
  EXPECT_EQ(refused({1, 1, 23, 1, 1, -1}), "was read");
  EXPECT_THAT(refused({1, 0}), HasSubstr("that is none"));
  EXPECT_THAT(refused({-1, 0, 23}), HasSubstr("that is none"));
  EXPECT_THAT(refused({7, 0, 23}), HasSubstr("that is none"));
  EXPECT_THAT(refused({1, 0, 23, 1}), HasSubstr("that is none"));
  EXPECT_THAT(refused({1, 0, 23, 0x7FFFFFFF, 1}), HasSubstr("more items than"));
  EXPECT_THAT(refused({2, 0, 23, 0x10000, 1, 0x10000, 1}),
              HasSubstr("more items than"));
  EXPECT_THAT(refused({1, 0, 23, 2, 1, 4, 7}), HasSubstr("within an item"));
  EXPECT_THAT(refused({1, 0, 23, 1, 1, 8, 7}), HasSubstr("within an item"));
  EXPECT_THAT(refused({1, 0, 23, 1, 1, 4, 7, 7}),
              HasSubstr("behind its items"));
  EXPECT_THAT(refused({1, 0, 23, 1, 1, 0}), HasSubstr("expected 4"));
}

TEST(copied_rows, with_an_interval_beyond_nanoseconds_are_refused) {
  EXPECT_THAT(copy_refusal(copy_schema({arrow::month_day_nano_interval()}),
                           copy_answer()
                               .row(1)
                               .number(uint32_t(16))
                               .number(std::numeric_limits<int64_t>::max())
                               .number(int64_t(0))
                               .end()
                               .bytes()),
              HasSubstr("would overflow"));
}

TEST(copied_rows, that_end_early_or_go_on_are_refused) {
  const std::string bytes = answer_of_every_type().bytes();
  for (size_t size = 0; size < bytes.size(); ++size)
    for (const size_t piece : {size_t(7), SIZE_MAX})
      EXPECT_THAT(copy_refusal(every_type, bytes.substr(0, size), piece),
                  testing::AnyOf(HasSubstr("no end"), HasSubstr("ends within")))
          << size;
  EXPECT_THAT(copy_refusal(every_type, bytes + "x"),
              HasSubstr("behind its end"));
}

TEST(copied_rows, of_damaged_bytes_are_refused_or_read_as_what_they_say) {
  const std::string bytes = answer_of_every_type().bytes();
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = bytes;
    for (int j = 0; j <= i % 3; ++j)
      damaged[19 + random() % (damaged.size() - 19)] = char(random());
    // ValidateFull() would find an offset that is wrong; text may be no UTF-8.
    copied_rows rows(every_type, 1 << 20);
    try {
      for (size_t at = 0; at < damaged.size(); at += 11)
        rows.add(std::string_view(damaged).substr(at, 11));
      rows.check_end();
    } catch (const adbc_failure&) {
      continue;
    }
    const auto batch = rows.take();
    ASSERT_TRUE(!batch || batch->Validate().ok()) << i;
  }
}

} // namespace
} // namespace ballast::data
