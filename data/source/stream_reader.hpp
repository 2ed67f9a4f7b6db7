/// Reads one file of a source with named columns into a table: chooses its
/// columns, takes the rows that the job wants, checks their numbers. Where the
/// job says so, rows that cannot be used are left out and told
/// (row_faults.hpp); else the first of them is an error. Includes Arrow; for
/// source files of data/ only.
///
/// One owner, one thread. ballast_error{invalid_data} names file, row and
/// column.
#pragma once

#include "data/expression/expression.hpp"
#include "data/operators/row_origin.hpp"
#include "data/source/column_choice.hpp"
#include "data/source/record_stream.hpp"
#include "data/source/row_condition.hpp"
#include "data/source/row_faults.hpp"
#include "data/source/source_table.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ballast::data {

class stream_reader {
public:
  /// All live longer than this. `where`: null, or which rows are taken; it
  /// learns how its columns are read. `rows_before`: of earlier files.
  stream_reader(std::string path, record_stream& from, const source_spec& spec,
                const source_request& request, source_table& table,
                row_condition* where, uint64_t rows_before);

  /// How many rows there are, with those of earlier files. `judge`: ends the
  /// reading early where too many of them are bad; null: nobody does. `chosen`:
  /// called before the first row is read, once the columns are known and
  /// whether the label is text.
  uint64_t read(table_rows& rows, const row_faults* judge = nullptr,
                const std::function<void(bool)>& chosen = {});

private:
  // Columns.
  void choose(table_rows& rows);
  void choose_of_condition(const std::vector<std::string>& wanted);
  void choose_label(size_t column, table_rows& rows);
  [[noreturn]] void refuse_other_labels(size_t column,
                                        const table_rows& rows) const;
  void leave_out();
  bool has_feature() const;
  bool is_text_label(size_t column, const table_rows& rows) const;
  void check_numeric(size_t column);
  void check_cells(size_t column, const std::string& pointer) const;
  void place_columns();

  // Rows.
  std::shared_ptr<arrow::RecordBatch> next(const table_rows& rows);
  void take();
  void number_rows();
  int64_t row_read(int64_t row) const;
  std::string place_of(int64_t row) const;
  void refuse_missing(const arrow::Array& column, size_t number) const;
  const arrow::Array& numbers(size_t place, size_t number) const;
  void append(table_rows& rows);
  void append_labels(const std::vector<double>& labels, int64_t count,
                     table_rows& rows) const;
  std::string text_of(size_t place, int64_t row) const;

  // Rows that are left out (stream_faults.cpp).
  std::vector<bad_row> bad_cells(const table_rows& rows) const;
  void find_bad_labels(const table_rows& rows, std::vector<bad_row>& out) const;
  std::vector<bad_row>
  bad_features(const std::vector<const arrow::Array*>& features,
               const table_rows& rows) const;
  void take_those_with_a_result();
  void leave_out_rows(std::vector<bad_row> bad);
  row_fault fault_of(const bad_row& what) const;
  void tell_in_order();
  void keep(selected_rows next);

  const std::string path_;
  record_stream& from_;
  const source_spec& spec_;
  const source_request& request_;
  source_table& table_;
  row_condition* const where_;
  const row_origins* origins_ = nullptr; // of a graph
  const uint64_t first_row_;
  uint64_t rows_read_;
  const std::shared_ptr<arrow::Schema> schema_;
  std::vector<table_column> columns_;
  column_choice choice_;
  // Where the stream's batches have them.
  std::vector<size_t> features_;
  std::optional<size_t> label_;
  bool label_is_text_ = false;
  std::vector<size_t> kept_;
  std::optional<size_t> origin_;
  std::optional<bound_expression> taken_;
  /// Of the batch that came last: those that are taken, by their numbers where
  /// these are `some`, else all.
  selected_rows selected_;
  bool some_ = false;
  /// Those that are left out, by their numbers there, or by origin.
  std::vector<std::pair<uint64_t, row_fault>> left_out_;
};

} // namespace ballast::data
