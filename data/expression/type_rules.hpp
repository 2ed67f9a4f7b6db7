/// Which types of an expression fit together, and what they become: numbers
/// among themselves, texts, dates and times, nothing else. Includes Arrow; for
/// source files of data/expression/ only. Pure functions of types.
#pragma once

#include "data/expression/syntax.hpp"

#include <arrow/compute/expression.h>
#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include <memory>
#include <span>
#include <string>

namespace ballast::data {

enum class type_family : uint8_t {
  null,
  boolean,
  integer,
  floating,
  decimal,
  text,
  date,
  timestamp,
  other,
};

type_family family_of(const arrow::DataType& type);
/// Integer, floating or decimal.
bool is_number(const arrow::DataType& type);
/// In the words of `cast`: "float64", "text"; else as Arrow writes it.
std::string name_of(const arrow::DataType& type);
/// The type as which a column is computed with: dictionaries as their values,
/// views as plain texts, half floats as floats.
std::shared_ptr<arrow::DataType>
computed_type(const std::shared_ptr<arrow::DataType>& type);

/// A part of an expression once its columns are known.
struct typed_expression {
  arrow::compute::Expression expression;
  std::shared_ptr<arrow::DataType> type;
  const expression_node* node = nullptr;

  /// A literal of the text takes the type of what it meets.
  bool is_literal() const { return node->kind == node_kind::literal; }
};

enum class literal_use : uint8_t {
  compared, // 5.0 is the integer 5
  computed, // 5.0 makes a float of what it meets
};

/// The type in which all of them keep their values; null if one is a text, and
/// another a number, for example. Nulls fit to all.
std::shared_ptr<arrow::DataType>
common_type(std::span<const typed_expression> parts, literal_use use);

/// The type as which a part is computed with others: float64, int64 or uint64,
/// for all the same; or, of decimals without a float among them, the decimal of
/// that part alone. All parts are numbers or null.
std::shared_ptr<arrow::DataType>
arithmetic_type(std::span<const typed_expression> parts,
                const typed_expression& part);

std::shared_ptr<arrow::Scalar> scalar_of(const literal_value& value);
/// The part as another type: a literal at once, else by a cast. Refuses values
/// out of range (of a column, once it is computed); an integer may lose digits
/// as a float.
arrow::Result<typed_expression>
convert(typed_expression part, const std::shared_ptr<arrow::DataType>& type);

} // namespace ballast::data
