/// What the tests of operators share: streams of rows made up from a seed, all
/// rows of a stream as text, and references that need no operator.
#pragma once

#include "data/operators/operator_context.hpp"
#include "data/source/record_stream.hpp"
#include "runtime/base/random.hpp"

#include <arrow/api.h>
#include <arrow/json/from_string.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

namespace ballast::data {

/// Batches that are there already, in pieces of a given size.
class batches_stream : public record_stream {
public:
  explicit batches_stream(std::shared_ptr<arrow::RecordBatch> rows,
                          int64_t rows_at_once = 4096)
      : rows_(std::move(rows)), rows_at_once_(rows_at_once) {}

  std::shared_ptr<arrow::Schema> schema() override { return rows_->schema(); }
  void choose(std::vector<int> columns) override {
    rows_ = rows_->SelectColumns(columns).ValueOrDie();
  }
  std::shared_ptr<arrow::RecordBatch> next() override {
    if (before_next)
      before_next(at_);
    if (at_ >= rows_->num_rows())
      return nullptr;
    auto out = rows_->Slice(at_, rows_at_once_);
    at_ += out->num_rows();
    return out;
  }
  std::string place_of(int64_t row) const override {
    return "input: row " + std::to_string(row + 1);
  }

  std::function<void(int64_t rows_so_far)> before_next;

private:
  std::shared_ptr<arrow::RecordBatch> rows_;
  int64_t rows_at_once_;
  int64_t at_ = 0;
};

/// A folder that must be empty at the end.
class spill_folder {
public:
  spill_folder() {
    std::string name =
        (std::filesystem::temp_directory_path() / "spill.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      std::abort();
    path_ = name;
  }
  ~spill_folder() {
    EXPECT_EQ(files(), 0) << "left in " << path_;
    std::filesystem::remove_all(path_);
  }
  spill_folder(const spill_folder&) = delete;
  spill_folder& operator=(const spill_folder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  int files() const {
    int out = 0;
    for ([[maybe_unused]] const auto& one :
         std::filesystem::directory_iterator(path_))
      ++out;
    return out;
  }
  operator_context context(uint64_t memory_bytes = 256 << 20) const {
    operator_context out;
    out.pointer = "/data/graph/2";
    out.name = "the node";
    out.memory_bytes = memory_bytes;
    out.spill = path_;
    out.seed = 7;
    return out;
  }

private:
  std::filesystem::path path_;
};

/// The rows with an origin of their own: 0, 1, ...
inline std::shared_ptr<arrow::RecordBatch>
with_origin(const std::shared_ptr<arrow::RecordBatch>& rows,
            uint64_t first = 0) {
  arrow::UInt64Builder builder;
  for (int64_t i = 0; i < rows->num_rows(); ++i)
    EXPECT_TRUE(builder.Append(first + uint64_t(i)).ok());
  return rows
      ->AddColumn(rows->num_columns(),
                  arrow::field(origin_column, arrow::uint64(), false),
                  builder.Finish().ValueOrDie())
      .ValueOrDie();
}

/// Rows out of JSON, with an origin.
inline std::shared_ptr<arrow::RecordBatch>
rows_of(const arrow::FieldVector& fields, const std::string& json) {
  const auto rows =
      arrow::json::ArrayFromJSONString(arrow::struct_(fields), json)
          .ValueOrDie();
  return with_origin(arrow::RecordBatch::FromStructArray(rows).ValueOrDie());
}

inline std::unique_ptr<record_stream>
stream_of(const std::shared_ptr<arrow::RecordBatch>& rows,
          int64_t rows_at_once = 4096) {
  return std::make_unique<batches_stream>(rows, rows_at_once);
}

/// All rows of a stream as one batch, each batch of which is checked.
inline std::shared_ptr<arrow::RecordBatch> all_of(record_stream& from) {
  arrow::RecordBatchVector batches;
  std::shared_ptr<arrow::Schema> schema = from.schema();
  while (const auto batch = from.next()) {
    EXPECT_GT(batch->num_rows(), 0);
    EXPECT_TRUE(batch->ValidateFull().ok()) << batch->ValidateFull().ToString();
    schema = batch->schema();
    batches.push_back(batch);
  }
  EXPECT_EQ(from.next(), nullptr) << "after the end";
  const auto table =
      arrow::Table::FromRecordBatches(schema, batches).ValueOrDie();
  return table->CombineChunksToBatch().ValueOrDie();
}

inline std::shared_ptr<arrow::RecordBatch>
all_of(const std::unique_ptr<record_stream>& from) {
  return all_of(*from);
}

/// One line for each row, its cells as Arrow prints them.
inline std::vector<std::string> lines_of(const arrow::RecordBatch& rows) {
  std::vector<std::string> out(size_t(rows.num_rows()));
  for (const auto& column : rows.columns())
    for (int64_t i = 0; i < rows.num_rows(); ++i)
      out[size_t(i)] += (out[size_t(i)].empty() ? "" : " ") +
                        column->GetScalar(i).ValueOrDie()->ToString();
  return out;
}

/// Row by row, NaN equal to NaN, -0.0 not to 0.0: the same bits.
inline bool same_rows(const arrow::RecordBatch& a,
                      const arrow::RecordBatch& b) {
  return a.schema()->Equals(*b.schema()) &&
         a.Equals(b, false,
                  arrow::EqualOptions::Defaults()
                      .nans_equal(true)
                      .signed_zeros_equal(false));
}

/// Numbers of a stream of their own, so that a failure can be repeated.
class dice {
public:
  explicit dice(uint64_t seed) : random_(seed, 1) {}
  uint64_t below(uint64_t bound) { return random_.below(bound, at_++); }

private:
  counter_random random_;
  uint64_t at_ = 0;
};

/// A column of `rows` values of which `kinds` differ, with nulls.
inline std::shared_ptr<arrow::Array>
some_values(const std::shared_ptr<arrow::DataType>& type, int64_t rows,
            uint64_t kinds, dice& random) {
  std::unique_ptr<arrow::ArrayBuilder> builder;
  if (type->id() == arrow::Type::DICTIONARY)
    builder = std::make_unique<arrow::StringDictionary32Builder>();
  else
    builder = arrow::MakeBuilder(type).ValueOrDie();
  const auto append = [&](uint64_t kind) -> arrow::Status {
    switch (type->id()) {
    case arrow::Type::DOUBLE: {
      const double odd[] = {NAN, -0.0, 0.0, INFINITY, -INFINITY};
      return static_cast<arrow::DoubleBuilder&>(*builder).Append(
          kind < 5 ? odd[kind] : (double(kind) - double(kinds) / 2) / 3);
    }
    case arrow::Type::FLOAT:
      return static_cast<arrow::FloatBuilder&>(*builder).Append(
          kind == 0   ? -0.0F
          : kind == 1 ? 0.0F
          : kind == 2 ? NAN
                      : float(kind));
    case arrow::Type::INT64:
      return static_cast<arrow::Int64Builder&>(*builder).Append(
          (int64_t(kind) - int64_t(kinds / 2)) * 1'000'003);
    case arrow::Type::INT32:
      return static_cast<arrow::Int32Builder&>(*builder).Append(
          int32_t(kind) - int32_t(kinds / 2));
    case arrow::Type::UINT8:
      return static_cast<arrow::UInt8Builder&>(*builder).Append(uint8_t(kind));
    case arrow::Type::BOOL:
      return static_cast<arrow::BooleanBuilder&>(*builder).Append(kind % 2 ==
                                                                  0);
    case arrow::Type::DICTIONARY:
    case arrow::Type::STRING: {
      // Some are the begin of another, some have a byte 0.
      std::string text = kind % 3 == 0 ? "the same begin " : "";
      text += std::to_string(kind);
      if (kind % 5 == 0)
        text = text.substr(0, text.size() / 2) + std::string(1, '\0');
      if (kind == 1)
        text.clear();
      if (type->id() == arrow::Type::STRING)
        return static_cast<arrow::StringBuilder&>(*builder).Append(text);
      return static_cast<arrow::StringDictionary32Builder&>(*builder).Append(
          text);
    }
    default:
      return arrow::Status::Invalid("no values of ", type->ToString());
    }
  };
  for (int64_t i = 0; i < rows; ++i)
    EXPECT_TRUE((random.below(9) == 0 ? builder->AppendNull()
                                      : append(random.below(kinds)))
                    .ok());
  return builder->Finish().ValueOrDie();
}

/// Some columns named a, b, c, ... of such values, with an origin.
inline std::shared_ptr<arrow::RecordBatch>
some_rows(const arrow::DataTypeVector& types, int64_t rows, uint64_t kinds,
          dice& random) {
  arrow::FieldVector fields;
  arrow::ArrayVector columns;
  for (const auto& type : types) {
    fields.push_back(
        arrow::field(std::string(1, char('a' + fields.size())), type));
    columns.push_back(some_values(type, rows, kinds, random));
  }
  return with_origin(
      arrow::RecordBatch::Make(arrow::schema(fields), rows, columns));
}

/// 50 MB: a: some 500,000 numbers, b: doubles, c: texts of 20 to 39 bytes.
inline std::shared_ptr<arrow::RecordBatch> many_rows(int64_t rows,
                                                     uint64_t kinds) {
  dice random(5);
  arrow::Int64Builder a;
  arrow::DoubleBuilder b;
  arrow::StringBuilder c;
  for (int64_t i = 0; i < rows; ++i) {
    const uint64_t kind = random.below(kinds);
    EXPECT_TRUE((kind == 0 ? a.AppendNull() : a.Append(int64_t(kind))).ok());
    EXPECT_TRUE(b.Append(double(random.below(1000)) / 7).ok());
    EXPECT_TRUE(
        c.Append(std::string(20 + random.below(20), char('a' + kind % 26)))
            .ok());
  }
  return with_origin(arrow::RecordBatch::Make(
      arrow::schema({arrow::field("a", arrow::int64()),
                     arrow::field("b", arrow::float64()),
                     arrow::field("c", arrow::utf8())}),
      rows,
      {a.Finish().ValueOrDie(), b.Finish().ValueOrDie(),
       c.Finish().ValueOrDie()}));
}

/// A value as the references compare it.
struct cell {
  int rank = 0; // 0: a value, 1: NaN, 2: null
  double number = 0;
  std::string text = {};
  bool operator==(const cell&) const = default;
};

inline cell cell_at(const arrow::Array& column, int64_t row) {
  if (column.IsNull(row))
    return {2};
  const auto scalar = column.GetScalar(row).ValueOrDie();
  switch (column.type_id()) {
  case arrow::Type::STRING:
    return {0, 0,
            static_cast<const arrow::StringArray&>(column).GetString(row)};
  case arrow::Type::BOOL:
    return {0, static_cast<const arrow::BooleanArray&>(column).Value(row) ? 1.
                                                                          : 0.};
  default: {
    const double number = std::stod(scalar->ToString());
    if (std::isnan(number))
      return {1};
    return {0, number == 0 ? 0. : number}; // -0.0 is 0.0
  }
  }
}

/// Dictionaries as the values that they stand for.
inline std::shared_ptr<arrow::RecordBatch>
plain(const std::shared_ptr<arrow::RecordBatch>& rows) {
  auto out = rows;
  for (int i = 0; i < rows->num_columns(); ++i) {
    if (rows->column(i)->type_id() != arrow::Type::DICTIONARY)
      continue;
    const auto& coded =
        static_cast<const arrow::DictionaryArray&>(*rows->column(i));
    arrow::StringBuilder builder;
    const auto& texts =
        static_cast<const arrow::StringArray&>(*coded.dictionary());
    for (int64_t k = 0; k < coded.length(); ++k)
      EXPECT_TRUE((coded.IsNull(k) ? builder.AppendNull()
                                   : builder.Append(texts.GetString(
                                         coded.GetValueIndex(k))))
                      .ok());
    out =
        out->SetColumn(
               i, arrow::field(rows->schema()->field(i)->name(), arrow::utf8()),
               builder.Finish().ValueOrDie())
            .ValueOrDie();
  }
  return out;
}

/// These rows, by copying one after another; -1: a row of nulls.
inline std::shared_ptr<arrow::RecordBatch>
picked(const std::shared_ptr<arrow::RecordBatch>& rows,
       const std::vector<int64_t>& numbers) {
  arrow::ArrayVector columns;
  for (const auto& column : rows->columns()) {
    const auto builder = arrow::MakeBuilder(column->type()).ValueOrDie();
    for (const int64_t number : numbers)
      EXPECT_TRUE((number < 0
                       ? builder->AppendNull()
                       : builder->AppendArraySlice(*column->data(), number, 1))
                      .ok());
    columns.push_back(builder->Finish().ValueOrDie());
  }
  return arrow::RecordBatch::Make(rows->schema(), int64_t(numbers.size()),
                                  columns);
}

/// The most that Arrow's pool held while a stream was read, beyond what it held
/// before.
class memory_seen {
public:
  memory_seen() : before_(arrow::default_memory_pool()->bytes_allocated()) {}
  void look() {
    most_ = std::max(most_,
                     arrow::default_memory_pool()->bytes_allocated() - before_);
  }
  int64_t most() const { return most_; }

private:
  int64_t before_;
  int64_t most_ = 0;
};

} // namespace ballast::data
