/// Some whole lines of JSON and Arrow's parser of them. Includes Arrow; for
/// source files of data/ only. Pure; errors are Arrow's.
#pragma once

#include "data/source/json_lines.hpp"
#include "data/source/record_stream.hpp"

#include <arrow/result.h>
#include <arrow/type_fwd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

/// Some whole lines with their rows.
struct json_block {
  struct row {
    uint64_t line = 0;
    size_t begin = 0;
    size_t end = 0; // behind the line end
  };
  std::string text;
  std::vector<row> rows;
  std::vector<bad_row> bad; // of these, which are empty

  std::string_view of(const row& one) const {
    return std::string_view(text).substr(one.begin, one.end - one.begin);
  }
  /// Without its end.
  std::string_view line_of(const row& one) const {
    return std::string_view(text).substr(one.begin, one.end - one.begin - 1);
  }
  void add(std::string_view line, uint64_t number);
  /// `count` rows from `first` on, and what is bad is not said.
  json_block part(size_t first, size_t count) const;
  /// These become empty objects.
  void blank(const std::vector<size_t>& which);
  /// With the values of these columns as texts.
  json_block as_texts(const json_names& columns) const;
};

/// What becomes of keys that a schema lacks.
enum class other_keys : uint8_t { are_columns, are_skipped, are_refused };
/// Without a schema all are others.
arrow::Result<std::shared_ptr<arrow::RecordBatch>>
parse_json(std::string_view text, std::shared_ptr<arrow::Schema> schema,
           other_keys others);

/// The rows of a block as columns of `schema`; those of `stated` are texts, and
/// "NaN" is a number. Null: a row is not so, of which Arrow has `said` more.
std::shared_ptr<arrow::RecordBatch>
parse_rows(const json_block& of, const arrow::Schema& schema,
           const json_names& stated, other_keys others, arrow::Status& said);

/// Of rows that differ in their types, or are none: the columns of all that can
/// be read, each of the type that most of them have; numbers where a column of
/// `floats` has one.
std::shared_ptr<arrow::Schema> common_schema(const json_block& of,
                                             const json_names& floats);

/// Its columns of float64 but for these.
json_names floats_of(const arrow::Schema& schema, const json_names& but);

/// Itself, and those within.
size_t count_columns(const arrow::DataType& type);

/// As Arrow reads it: the values of these columns are texts.
std::shared_ptr<arrow::Schema> texts_in(const arrow::Schema& schema,
                                        const json_names& columns);
/// Without blanks around them; empty: missing.
std::vector<std::string_view> text_cells_of(const arrow::Array& column);
/// Texts of these columns become float64. Null: one of them is neither a number
/// nor a word for what JSON has no number for.
std::shared_ptr<arrow::RecordBatch>
with_floats(const std::shared_ptr<arrow::RecordBatch>& rows,
            const json_names& floats);

/// Of Arrow's words about a block: the column, and what is wrong with it, or
/// with a line that is no JSON.
struct json_complaint {
  std::string column; // "a", "o/k"; empty: none
  std::string what;
};
json_complaint complaint_of(const std::string& words);

} // namespace ballast::data
