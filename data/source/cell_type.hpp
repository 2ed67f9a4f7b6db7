/// The types of text cells: which one the cells of a column have in common, a
/// column of cells as an array of a type, and what is said of a cell that is
/// not of its column's type. A type that is found, not stated, is exact: no
/// cell may lose what it is written with by it, so that 01234 and 2^53 + 1
/// come out as they went in. Includes Arrow; for source files of data/ only.
/// Pure functions.
#pragma once

#include "runtime/job/job.hpp"

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ballast::data {

/// What a column is read as.
struct cell_type {
  column_type is = column_type::text;
  bool exact = false;  // found in the first rows
  bool stated = false; // by the job
};

using stated_types = std::map<std::string, column_type>;
/// Of the job's `columns`.
stated_types types_stated(const source_spec& spec);

const std::shared_ptr<arrow::DataType>& arrow_type(column_type what);
/// None: no column of text cells becomes this.
std::optional<column_type> column_type_of(const arrow::DataType& type);

/// How a cell is written, which is without blanks around it.
enum class cell_form : uint8_t {
  missing,
  whole,      // as int64 is printed, and exact as float64
  long_whole, // as int64 is printed, which float64 rounds
  number,     // any other that float64 has, but for its last digits
  zeros,      // with zeros in front
  beyond,     // whole beyond int64, which float64 rounds; beyond float64
  word,       // no number
};
cell_form form_of(std::string_view cell);

/// Whether a column whose type was found keeps the cell as it is written, but
/// for the last digits of a fraction.
bool is_kept(column_type type, std::string_view cell);
/// False: the cell is no whole number, or none that the type keeps.
bool read_whole_cell(const cell_type& type, std::string_view cell,
                     int64_t& out);

/// What the cells of a column have in common.
class common_cell_type {
public:
  void see(std::string_view cell) { seen_[size_t(form_of(cell))] = true; }
  /// No cell so far says anything.
  bool silent() const;
  /// int64, float64 or text; of silent ones float64.
  column_type type() const;

private:
  bool saw(cell_form what) const { return seen_[size_t(what)]; }
  bool seen_[size_t(cell_form::word) + 1] = {};
};

/// Such cells as an array, empty ones as nulls. Null: the cell `bad` is not of
/// the type.
std::shared_ptr<arrow::Array>
array_of_cells(const cell_type& type,
               const std::vector<std::string_view>& cells, size_t& bad);

/// The same; each cell that is not of the type is told, by its place, and
/// becomes a null.
std::shared_ptr<arrow::Array>
array_of_cells(const cell_type& type, std::vector<std::string_view> cells,
               const std::function<void(size_t bad)>& tell);

/// Whether a cell that is not missing is of the type; `number`: what it is,
/// unless it is text or a time.
bool is_of_type(column_type type, std::string_view cell, double& number);

/// "text of 7 characters": of one that is not quoted.
std::string text_unquoted(std::string_view text);

/// Of a cell that is not of the type: what was expected, what was found, and
/// what to put into the job at `pointer`. Quotes the column, not the cell.
std::string misfit_text(const cell_type& type, std::string_view cell,
                        const std::string& column, const std::string& pointer);
/// `put "columns": {"id": "text"} into /data/train`.
std::string put_columns(const stated_types& types, const std::string& pointer);

/// Refuses types for columns that are not there, with the nearest name.
void check_stated(const stated_types& types,
                  const std::vector<std::string>& columns,
                  const std::string& file, const std::string& pointer);

} // namespace ballast::data
