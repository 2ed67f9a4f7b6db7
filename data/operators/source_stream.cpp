#include "data/operators/source_stream.hpp"

#include "data/base/arrow_support.hpp"
#include "data/expression/binding.hpp"
#include "data/operators/origin_faults.hpp"
#include "data/operators/removed_rows.hpp"
#include "data/source/array_cells.hpp"
#include "data/source/cell_type.hpp"
#include "data/source/database_source.hpp"
#include "data/source/source_error.hpp"
#include "data/source/stream_table.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>

#include <cmath>
#include <span>
#include <utility>
#include <vector>

namespace ballast::data {

namespace {

using batch_pointer = std::shared_ptr<arrow::RecordBatch>;

class source_stream final : public operator_stream {
public:
  source_stream(const source_spec& spec, size_t index,
                std::shared_ptr<row_origins> origins, found_source& found,
                operator_context context)
      : operator_stream(std::move(context)), spec_(spec), index_(index),
        files_(std::move(origins)) {
    request_.pointer = this->context().pointer;
    request_.stop = this->context().stop;
    request_.faults = this->context().faults;
    request_.found = this->context().found;
    if (found.schema == nullptr)
      find(found);
    stored_ = found.files;
    file_ = first_ = found.first;
    schema_ = found.schema;
    arrow::FieldVector fields = schema_->fields();
    fields.push_back(arrow::field(origin_column, arrow::uint64(), false));
    set_schema(arrow::schema(std::move(fields)));
  }

protected:
  void begin(const std::vector<int>& columns) override {
    const int own = schema_->num_fields();
    for (int column : columns) {
      origin_at_.push_back(column == own);
      if (column != own)
        columns_.push_back(column);
    }
    if (from_ != nullptr)
      from_->choose(columns_);
  }

  batch_pointer produce() override {
    if (from_ == nullptr) {
      if (!open_next())
        return nullptr;
    } else if (!std::exchange(begun_, true)) {
      files_->opened(index_, stored_[first_].name, 0);
    }
    while (true) {
      if (const batch_pointer rows = from_->next()) {
        batch_pointer good = good_rows(with_origin(rows));
        if (good->num_rows() > 0)
          return good;
        continue;
      }
      from_ = nullptr; // and its file, while others are read
      if (rows_ == file_begin_ && stored_.size() > 1)
        files_->without_rows(index_, stored_[file_].name);
      ++file_;
      if (!open_next())
        return nullptr;
    }
  }

private:
  /// The first to look at the source: what it opened it will read.
  void find(found_source& found) {
    found.files = stored_files(spec_, request_);
    while (from_ == nullptr)
      try {
        from_ = open(found.files.at(found.first));
        if (found.first + 1 == found.files.size() || from_->has_rows())
          break;
        from_ = nullptr;
        files_->without_rows(index_, found.files[found.first++].name);
      } catch (const no_rows_error&) {
        files_->without_rows(index_, found.files[found.first].name);
        if (++found.first == found.files.size())
          throw;
      }
    for (const std::string& note :
         notes_of_stream(*from_, found.files[found.first].name))
      files_->note(note);
    const std::shared_ptr<arrow::Schema> schema = from_->schema();
    if (!schema->GetAllFieldIndices(origin_column).empty())
      throw ballast_error(errc::invalid_data,
                          printable(found.files[found.first].name) +
                              ": a column is named " + origin_column +
                              ", which means something else here; give it "
                              "another name in the file",
                          request_.pointer);
    found.schema = with_types_of_others(found);
  }

  /// A column in which the first file has nothing at all is what the first of
  /// the others says that it is.
  std::shared_ptr<arrow::Schema>
  with_types_of_others(const found_source& found) {
    std::shared_ptr<arrow::Schema> out = from_->schema();
    for (size_t file = found.first + 1;
         file < found.files.size() && tells_types(spec_.format); ++file) {
      if (std::ranges::none_of(out->fields(), is_null))
        break;
      const auto others = open(found.files[file])->schema();
      arrow::FieldVector fields;
      for (const auto& field : out->fields()) {
        const auto other = others->GetFieldByName(field->name());
        fields.push_back(is_null(field) && other != nullptr
                             ? field->WithType(other->type())
                             : field);
      }
      out = arrow::schema(std::move(fields), out->metadata());
    }
    return out;
  }
  static bool is_null(const std::shared_ptr<arrow::Field>& field) {
    return field->type()->id() == arrow::Type::NA;
  }

  /// That file, or the first behind it that has rows; false: there is none.
  bool open_next() {
    begun_ = true;
    open_soon(std::span(stored_).subspan(file_), request_.pointer + "/uri",
              whole_max_of(spec_));
    for (; file_ < stored_.size(); ++file_)
      try {
        from_ = open(stored_[file_]);
        if (file_ != first_ && !from_->has_rows()) {
          files_->without_rows(index_, stored_[file_].name);
          continue;
        }
        file_begin_ = rows_;
        files_->opened(index_, stored_[file_].name, rows_);
        from_->choose(columns_of_file());
        return true;
      } catch (const no_rows_error&) {
        files_->without_rows(index_, stored_[file_].name);
      }
    return false;
  }

  std::unique_ptr<record_stream> open(const stored_file& file) {
    return open_table(spec_, request_, file,
                      {.typing = cell_typing::exact, .like = schema_});
  }

  /// Of a file that is opened now: where it has the columns that are read.
  std::vector<int> columns_of_file() {
    auto found = from_->schema();
    if (found->Equals(*schema_, /*check_metadata=*/false))
      return columns_;
    std::vector<int> out;
    for (int column : columns_) {
      const auto& field = *schema_->field(column);
      const int at = found->GetFieldIndex(field.name());
      if (at < 0)
        refuse("has no column '" + printable(field.name()) + "', the first " +
               "file, " + printable(stored_[first_].name) + ", has it");
      const bool numbers = holds_numbers(*field.type());
      if (const auto stated = column_type_of(*field.type());
          stated && from_->read_as(at, *stated))
        found = from_->schema();
      const auto& type = *found->field(at)->type();
      if (!type.Equals(field.type()) && type.id() != arrow::Type::NA &&
          !(numbers && holds_numbers(type)))
        refuse("column '" + printable(field.name()) + "' has the type " +
               type.ToString() + ", in the first file, " +
               printable(stored_[first_].name) + ", " +
               field.type()->ToString() + ": write both with one type");
      out.push_back(at);
    }
    return out;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw ballast_error(errc::invalid_data,
                        printable(stored_[file_].name) + ": " + why,
                        request_.pointer);
  }

  /// As the first file has it.
  std::shared_ptr<arrow::Array>
  as_first(const std::shared_ptr<arrow::Array>& column, int index) const {
    const auto& field = *schema_->field(index);
    if (column->type()->Equals(field.type()))
      return column;
    prepare_functions();
    const std::string where = printable(stored_[file_].name) + ": column '" +
                              printable(field.name()) + "'";
    const std::shared_ptr<arrow::Array> out = take_arrow(
        arrow::compute::Cast(*column, field.type()), errc::invalid_data, where);
    // Arrow minds what an integer loses, not what a shorter float does.
    if (out->type_id() == arrow::Type::FLOAT &&
        column->type_id() == arrow::Type::DOUBLE)
      check_kept(static_cast<const arrow::DoubleArray&>(*column),
                 static_cast<const arrow::FloatArray&>(*out), where);
    return out;
  }

  void check_kept(const arrow::DoubleArray& before,
                  const arrow::FloatArray& after,
                  const std::string& where) const {
    for (int64_t i = 0; i < before.length(); ++i)
      if (before.IsValid(i) && double(after.Value(i)) != before.Value(i) &&
          !std::isnan(before.Value(i)))
        throw ballast_error(
            errc::invalid_data,
            where + ": " + cell_of(before, i) +
                " cannot be kept as float, which the column is in the first "
                "file, " +
                printable(stored_[first_].name) +
                "; write both with one type, or begin with a file of double",
            request_.pointer);
  }

  batch_pointer with_origin(const batch_pointer& rows) {
    arrow::UInt64Builder origins;
    check_arrow(origins.Reserve(rows->num_rows()), errc::device_failed,
                spec_.uri);
    for (int64_t row = 0; row < rows->num_rows(); ++row)
      origins.UnsafeAppend(origin_of(index_, rows_ + uint64_t(row)));
    rows_ += uint64_t(rows->num_rows());
    const std::shared_ptr<arrow::Array> origin =
        take_arrow(origins.Finish(), errc::device_failed, spec_.uri);
    arrow::ArrayVector out;
    arrow::FieldVector fields;
    size_t next = 0;
    for (bool is_origin : origin_at_) {
      out.push_back(is_origin
                        ? origin
                        : as_first(rows->column(int(next)), columns_[next]));
      next += is_origin ? 0 : 1;
      fields.push_back(arrow::field("", out.back()->type()));
    }
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)),
                                    rows->num_rows(), std::move(out));
  }

  /// Those that could be read; the others are told.
  batch_pointer good_rows(const batch_pointer& rows) {
    row_faults* const faults = context().faults;
    if (context().removed != nullptr)
      context().removed->read_up_to(index_, rows_);
    if (faults == nullptr)
      return rows;
    faults->read_up_to(index_, rows_);
    const std::vector<bad_row>& bad = from_->bad_rows();
    if (bad.empty())
      return rows;
    const uint64_t first = rows_ - uint64_t(rows->num_rows());
    for (const bad_row& one : bad) {
      row_fault what;
      what.line = from_->line_of(one.row);
      what.text = one.text;
      if (one.text.empty())
        what.values = cells_of(one.row);
      add_written(what, from_->as_written(one.row), false);
      add_fault(*faults, *files_, origin_of(index_, first + uint64_t(one.row)),
                one, std::move(what));
    }
    return without_rows(rows, bad).batch;
  }

  /// As they stand in the file.
  std::vector<named_value> cells_of(int64_t row) const {
    std::vector<named_value> out;
    for (size_t i = 0; i < columns_.size() && i < fault_values_max; ++i)
      if (const auto text = from_->text_of(int(i), row))
        out.emplace_back(schema_->field(columns_[i])->name(), *text);
    return out;
  }

  const source_spec& spec_;
  const size_t index_;
  const std::shared_ptr<row_origins> files_;
  source_request request_;
  std::vector<stored_file> stored_;
  size_t file_ = 0;
  size_t first_ = 0; // that has rows
  std::unique_ptr<record_stream> from_;
  std::shared_ptr<arrow::Schema> schema_; // of the first file
  std::vector<int> columns_;              // that are read, in order
  std::vector<bool> origin_at_;           // of the output
  bool begun_ = false;
  uint64_t rows_ = 0;
  uint64_t file_begin_ = 0; // of the file that is open
};

} // namespace

stream_pointer source_rows(const source_spec& spec, size_t index,
                           std::shared_ptr<row_origins> origins,
                           found_source& found, operator_context context) {
  return std::make_unique<source_stream>(spec, index, std::move(origins), found,
                                         std::move(context));
}

} // namespace ballast::data
