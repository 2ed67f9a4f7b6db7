#include "data/base/arrow_support.hpp"
#include "data/source/column_choice.hpp"
#include "data/source/source_file.hpp"
#include "data/source/source_table.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>

#include <set>

namespace ballast::data {

namespace {

bool is_number(const arrow::DataType& type) {
  return arrow::is_integer(type.id()) || type.id() == arrow::Type::FLOAT ||
         type.id() == arrow::Type::DOUBLE || type.id() == arrow::Type::BOOL;
}

template <class ArrayType>
void copy(const arrow::Array& column, std::vector<double>& out) {
  const auto& typed = static_cast<const ArrayType&>(column);
  for (int64_t i = 0; i < typed.length(); ++i)
    out[size_t(i)] = double(typed.Value(i));
}

/// A column's values as doubles: exact except for 64-bit integers, which become
/// float32 anyway.
std::vector<double> numbers_of(const arrow::Array& column) {
  std::vector<double> out(size_t(column.length()));
  switch (column.type_id()) {
  case arrow::Type::BOOL:
    copy<arrow::BooleanArray>(column, out);
    break;
  case arrow::Type::UINT8:
    copy<arrow::UInt8Array>(column, out);
    break;
  case arrow::Type::INT8:
    copy<arrow::Int8Array>(column, out);
    break;
  case arrow::Type::UINT16:
    copy<arrow::UInt16Array>(column, out);
    break;
  case arrow::Type::INT16:
    copy<arrow::Int16Array>(column, out);
    break;
  case arrow::Type::UINT32:
    copy<arrow::UInt32Array>(column, out);
    break;
  case arrow::Type::INT32:
    copy<arrow::Int32Array>(column, out);
    break;
  case arrow::Type::UINT64:
    copy<arrow::UInt64Array>(column, out);
    break;
  case arrow::Type::INT64:
    copy<arrow::Int64Array>(column, out);
    break;
  case arrow::Type::FLOAT:
    copy<arrow::FloatArray>(column, out);
    break;
  default:
    copy<arrow::DoubleArray>(column, out);
  }
  return out;
}

class parquet_file {
public:
  parquet_file(const std::string& path, const source_spec& spec,
               const source_request& request)
      : path_(path), spec_(spec), request_(request) {
    stamp_of(path, request.pointer + "/uri"); // a clear error if missing
    std::shared_ptr<arrow::io::ReadableFile> file =
        take(arrow::io::ReadableFile::Open(path));
    reader_ =
        take(parquet::arrow::OpenFile(file, arrow::default_memory_pool()));
  }

  void read(source_table& table, table_rows& rows) {
    const column_choice choice = choose(table);
    std::vector<size_t> chosen = choice.features;
    if (choice.label)
      chosen.push_back(*choice.label);
    std::set<int> once;
    for (size_t column : chosen)
      once.insert(leaves_[column]);
    for (size_t column : choice.kept)
      once.insert(leaves_[column]);
    const std::vector<int> leaves(once.begin(), once.end());
    // One row group at a time, to bound the memory.
    for (int group = 0; group < reader_->num_row_groups(); ++group) {
      const std::shared_ptr<arrow::Table> part =
          take(reader_->ReadRowGroup(group, leaves));
      arrow::TableBatchReader batches(*part);
      std::shared_ptr<arrow::RecordBatch> batch;
      for (;;) {
        check(batches.ReadNext(&batch));
        if (batch == nullptr)
          break;
        keep_cells(*batch, choice.kept, rows);
        append_rows(*batch, chosen, choice.label.has_value(), rows);
      }
    }
  }

private:
  void check(const arrow::Status& status) const {
    if (!status.ok())
      throw ballast_error(
          errc::invalid_data,
          printable(path_) + ": cannot be read as Parquet: " + status.message(),
          request_.pointer);
  }

  template <class T>
  T take(arrow::Result<T> result) const {
    check(result.status());
    return std::move(result).ValueUnsafe();
  }

  column_choice choose(source_table& table) {
    for (const auto& field : reader_->manifest().schema_fields) {
      const bool leaf = field.is_leaf();
      columns_.push_back(
          {field.field->name(), leaf && is_number(*field.field->type())});
      leaves_.push_back(leaf ? field.column_index : -1);
    }
    const std::vector<std::string>& wanted =
        !table.columns.empty() || request_.like == nullptr
            ? table.columns
            : request_.like->columns;
    column_choice choice =
        choose_columns(printable(path_), columns_, spec_, request_, wanted);
    for (size_t i = 0; i < choice.kept.size(); ++i)
      check_cells(choice.kept[i], request_.kept[i].pointer);
    if (choice.label)
      check_numeric(*choice.label);
    for (size_t feature : choice.features)
      check_numeric(feature);
    if (table.columns.empty())
      for (size_t feature : choice.features)
        table.columns.push_back(columns_[feature].name);
    if (chosen_by_content(spec_, request_) && !table.left_out) {
      table.left_out.emplace();
      for (size_t i : text_columns(columns_, spec_, request_))
        table.left_out->push_back(printable(columns_[i].name));
    }
    return choice;
  }

  void check_numeric(size_t column) const {
    if (columns_[column].numeric)
      return;
    const auto& field = reader_->manifest().schema_fields[column];
    throw ballast_error(
        errc::invalid_data,
        printable(path_) + ": column '" + printable(columns_[column].name) +
            "' has the type " + field.field->type()->ToString() +
            "; expected numbers",
        request_.pointer);
  }

  void check_cells(size_t column, const std::string& pointer) const {
    if (leaves_[column] < 0)
      throw ballast_error(errc::invalid_data,
                          printable(path_) + ": column '" +
                              printable(columns_[column].name) +
                              "' holds lists or structs; expected numbers or "
                              "text",
                          pointer);
  }

  /// For a dictionary the value, because another row group may number it
  /// differently.
  std::string cell_of(const arrow::Array& array, int64_t row) const {
    std::shared_ptr<arrow::Scalar> value = take(array.GetScalar(row));
    if (value->type->id() == arrow::Type::DICTIONARY)
      value = take(static_cast<const arrow::DictionaryScalar&>(*value)
                       .GetEncodedValue());
    return value->is_valid ? value->ToString() : std::string();
  }

  void keep_cells(const arrow::Array& array, size_t index,
                  table_rows& rows) const {
    for (int64_t row = 0; row < array.length(); ++row)
      rows.keep(index, array.IsNull(row) ? std::string() : cell_of(array, row));
  }
  void keep_cells(const arrow::RecordBatch& batch,
                  const std::vector<size_t>& kept, table_rows& rows) const {
    for (size_t i = 0; i < kept.size(); ++i)
      keep_cells(*batch.GetColumnByName(columns_[kept[i]].name), i, rows);
  }

  /// The label, if any, is the last of the chosen columns.
  void append_rows(const arrow::RecordBatch& batch,
                   const std::vector<size_t>& chosen, bool labelled,
                   table_rows& rows) {
    std::vector<std::vector<double>> columns;
    for (size_t column : chosen) {
      // By name: the reader returns columns in file order.
      const std::string& name = columns_[column].name;
      const std::shared_ptr<arrow::Array> array = batch.GetColumnByName(name);
      if (array->null_count() > 0) {
        int64_t row = 0;
        while (!array->IsNull(row))
          ++row;
        throw ballast_error(errc::invalid_data,
                            place(uint64_t(row)) + ", column '" +
                                printable(name) +
                                "': the value is missing (null)",
                            request_.pointer);
      }
      columns.push_back(numbers_of(*array));
    }
    for (uint64_t row = 0; row < uint64_t(batch.num_rows()); ++row) {
      auto here = [&] { return place(row); };
      const size_t features = columns.size() - (labelled ? 1 : 0);
      if (labelled)
        rows.label(columns.back()[row], columns_[chosen.back()].name, here);
      else
        rows.no_label();
      for (size_t i = 0; i < features; ++i)
        rows.feature(columns[i][row], columns_[chosen[i]].name, here);
    }
    rows_before_ += uint64_t(batch.num_rows());
  }

  std::string place(uint64_t row) const {
    return printable(path_) + ": row " + std::to_string(rows_before_ + row + 1);
  }

  const std::string& path_;
  const source_spec& spec_;
  const source_request& request_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::vector<table_column> columns_;
  std::vector<int> leaves_; // column in Parquet's own numbering
  uint64_t rows_before_ = 0;
};

} // namespace

source_table read_parquet(const source_spec& spec,
                          const source_request& request) {
  source_table out;
  out.label = spec.label;
  table_rows rows(out, request);
  for (const std::string& path :
       expand_uri(spec.uri, request.pointer + "/uri")) {
    out.files.push_back({path, out.labels.size() + out.targets.size()});
    try {
      parquet_file(path, spec, request).read(out, rows);
    } catch (const parquet::ParquetException& error) {
      throw ballast_error(errc::invalid_data,
                          printable(path) +
                              ": cannot be read as Parquet: " + error.what(),
                          request.pointer);
    }
  }
  rows.finish(out.columns.size());
  return out;
}

} // namespace ballast::data
