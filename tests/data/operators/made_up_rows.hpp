/// Rows made up from a seed, and what references compare in them.
#pragma once

#include "runtime/base/random.hpp"
#include "tests/data/operators/operator_tester.hpp"

#include <arrow/api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

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

} // namespace ballast::data
