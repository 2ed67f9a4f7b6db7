#include "data/sink/record_writer.hpp"

#include "data/base/arrow_support.hpp"
#include "data/sink/json_rows.hpp"
#include "data/sink/partial_path.hpp"
#include "runtime/base/check.hpp"
#include "runtime/base/printable.hpp"
#include "runtime/job/format_names.hpp"
#include "store/refuse_file.hpp"
#include "store/sync_path.hpp"

#include <arrow/adapters/orc/adapter.h>
#include <arrow/api.h>
#include <arrow/compute/api.h>
#include <arrow/csv/writer.h>
#include <arrow/io/file.h>
#include <arrow/ipc/writer.h>
#include <arrow/util/io_util.h>
#include <parquet/arrow/writer.h>

#include <string>
#include <utility>

namespace ballast::data {

namespace fs = std::filesystem;

namespace {

using batch_pointer = std::shared_ptr<arrow::RecordBatch>;
using schema_pointer = std::shared_ptr<arrow::Schema>;
using output_pointer = std::shared_ptr<arrow::io::OutputStream>;

/// What a format does with an open file.
class row_format {
public:
  virtual ~row_format() = default;
  virtual arrow::Status write(const batch_pointer& rows) = 0;
  virtual arrow::Status close() = 0;
};

/// CSV and IPC.
class arrow_rows final : public row_format {
public:
  explicit arrow_rows(std::shared_ptr<arrow::ipc::RecordBatchWriter> to)
      : to_(std::move(to)) {}
  arrow::Status write(const batch_pointer& rows) override {
    return to_->WriteRecordBatch(*rows);
  }
  arrow::Status close() override { return to_->Close(); }

private:
  const std::shared_ptr<arrow::ipc::RecordBatchWriter> to_;
};

/// CSV of a single column, whose missing cells would be empty lines, which are
/// no rows.
class lone_cells final : public row_format {
public:
  lone_cells(std::shared_ptr<arrow::ipc::RecordBatchWriter> to,
             output_pointer file)
      : to_(std::move(to)), file_(std::move(file)) {}
  arrow::Status write(const batch_pointer& rows) override {
    const arrow::Array& cells = *rows->column(0);
    int64_t first = 0; // not yet written
    for (int64_t row = 0; row <= rows->num_rows(); ++row) {
      const bool end = row == rows->num_rows();
      if (!end && cells.IsValid(row))
        continue;
      if (row > first)
        ARROW_RETURN_NOT_OK(
            to_->WriteRecordBatch(*rows->Slice(first, row - first)));
      if (!end)
        ARROW_RETURN_NOT_OK(file_->Write("\"\"\n"));
      first = row + 1;
    }
    return arrow::Status::OK();
  }
  arrow::Status close() override { return to_->Close(); }

private:
  const std::shared_ptr<arrow::ipc::RecordBatchWriter> to_;
  const output_pointer file_;
};

class parquet_rows final : public row_format {
public:
  explicit parquet_rows(std::unique_ptr<parquet::arrow::FileWriter> to)
      : to_(std::move(to)) {}
  arrow::Status write(const batch_pointer& rows) override {
    return to_->WriteRecordBatch(*rows);
  }
  arrow::Status close() override { return to_->Close(); }

private:
  const std::unique_ptr<parquet::arrow::FileWriter> to_;
};

/// ORC has no unsigned numbers: the next wider type that has a sign, of 64 bits
/// the one that has as many. Also within lists and structs.
std::shared_ptr<arrow::DataType>
type_in_orc(const std::shared_ptr<arrow::DataType>& type) {
  const auto of_field = [&](int i) {
    return type->field(i)->WithType(type_in_orc(type->field(i)->type()));
  };
  switch (type->id()) {
  case arrow::Type::UINT8:
    return arrow::int16();
  case arrow::Type::UINT16:
    return arrow::int32();
  case arrow::Type::UINT32:
  case arrow::Type::UINT64:
    return arrow::int64();
  case arrow::Type::LIST:
    return arrow::list(of_field(0));
  case arrow::Type::LARGE_LIST:
    return arrow::large_list(of_field(0));
  case arrow::Type::STRUCT: {
    arrow::FieldVector fields;
    for (int i = 0; i < type->num_fields(); ++i)
      fields.push_back(of_field(i));
    return arrow::struct_(fields);
  }
  default:
    return type;
  }
}

class orc_rows final : public row_format {
public:
  orc_rows(std::unique_ptr<arrow::adapters::orc::ORCFileWriter> to,
           const schema_pointer& schema, std::string context)
      : to_(std::move(to)), context_(std::move(context)) {
    arrow::FieldVector fields;
    for (const auto& field : schema->fields())
      fields.push_back(field->WithType(type_in_orc(field->type())));
    schema_ = arrow::schema(std::move(fields));
  }
  arrow::Status write(const batch_pointer& rows) override {
    arrow::ArrayVector columns;
    for (int i = 0; i < rows->num_columns(); ++i)
      columns.push_back(with_sign(rows->column(i), *schema_->field(i)));
    return to_->Write(*arrow::RecordBatch::Make(schema_, rows->num_rows(),
                                                std::move(columns)));
  }
  arrow::Status close() override { return to_->Close(); }

private:
  std::shared_ptr<arrow::Array>
  with_sign(const std::shared_ptr<arrow::Array>& column,
            const arrow::Field& field) const {
    if (column->type()->Equals(field.type()))
      return column;
    auto out = arrow::compute::Cast(*column, field.type());
    if (!out.ok())
      throw ballast_error(
          errc::invalid_data,
          context_ + ": column '" + printable(field.name()) +
              "' has a number above 9223372036854775807, the largest whole "
              "number of ORC; \"cast\" the column to float64, or write "
              ".parquet, .arrow, .jsonl or .csv");
    return *out;
  }

  const std::unique_ptr<arrow::adapters::orc::ORCFileWriter> to_;
  const std::string context_;
  schema_pointer schema_;
};

class jsonl_rows final : public row_format {
public:
  explicit jsonl_rows(output_pointer to) : to_(std::move(to)) {}
  arrow::Status write(const batch_pointer& rows) override {
    return to_->Write(json_lines_of(*rows));
  }
  arrow::Status close() override { return arrow::Status::OK(); }

private:
  const output_pointer to_;
};

arrow::Result<std::unique_ptr<row_format>> rows_to(source_format format,
                                                   const output_pointer& to,
                                                   const schema_pointer& schema,
                                                   const std::string& context) {
  switch (format) {
  case source_format::csv: {
    auto options = arrow::csv::WriteOptions::Defaults();
    options.quoting_style = arrow::csv::QuotingStyle::Needed;
    ARROW_ASSIGN_OR_RAISE(auto out,
                          arrow::csv::MakeCSVWriter(to, schema, options));
    if (schema->num_fields() == 1)
      return std::make_unique<lone_cells>(std::move(out), to);
    return std::make_unique<arrow_rows>(std::move(out));
  }
  case source_format::arrow: {
    ARROW_ASSIGN_OR_RAISE(auto out, arrow::ipc::MakeFileWriter(to, schema));
    return std::make_unique<arrow_rows>(std::move(out));
  }
  case source_format::parquet: {
    ARROW_ASSIGN_OR_RAISE(auto out,
                          parquet::arrow::FileWriter::Open(
                              *schema, arrow::default_memory_pool(), to));
    return std::make_unique<parquet_rows>(std::move(out));
  }
  case source_format::orc: {
    ARROW_ASSIGN_OR_RAISE(auto out,
                          arrow::adapters::orc::ORCFileWriter::Open(to.get()));
    return std::make_unique<orc_rows>(std::move(out), schema, context);
  }
  case source_format::jsonl:
    return std::make_unique<jsonl_rows>(to);
  default: // is not written
    break;
  }
  BALLAST_CHECK(false, "a format that is not written");
}

/// Whose cells are values.
void check_cells(const arrow::Schema& schema, const std::string& context) {
  for (const auto& field : schema.fields())
    if (arrow::is_nested(field->type()->id()))
      throw ballast_error(
          errc::invalid_data,
          context + ": column '" + printable(field->name()) +
              "' holds lists or structs, for which CSV has no cells; leave it "
              "out by the operator \"drop\", or write .jsonl or .parquet");
}

class file_writer final : public record_writer {
public:
  file_writer(const fs::path& path, fs::path at, const schema_pointer& schema)
      : at_(std::move(at)),
        context_("cannot write " + printable(path.string())) {
    if (format_of(path) == source_format::csv)
      check_cells(*schema, context_);
    file_ = take_arrow(arrow::io::FileOutputStream::Open(at_.string()),
                       errc::run_dir_unusable, context_);
    rows_ = take_arrow(rows_to(format_of(path), file_, schema, context_),
                       errc::run_dir_unusable, context_);
  }

  void write(const batch_pointer& rows) override { check(rows_->write(rows)); }

  void finish() override {
    check(rows_->close());
    check(file_->Close());
    store::sync_path(at_);
  }

private:
  void check(const arrow::Status& status) const {
    if (store::means_disk_full(arrow::internal::ErrnoFromStatus(status)))
      throw ballast_error(errc::disk_full,
                          context_ + ": the disk is full; make room there, or "
                                     "write to another disk");
    check_arrow(status, errc::run_dir_unusable, context_);
  }

  const fs::path at_;
  const std::string context_;
  output_pointer file_;
  std::unique_ptr<row_format> rows_;
};

} // namespace

source_format format_of(const fs::path& path) {
  const std::string name = path.filename().string();
  const named_format* found = format_of_name(name);
  if (found != nullptr && found->written)
    return found->format;
  std::string known;
  for (const named_format& one : named_formats)
    if (one.written)
      known += (known.empty() ? "" : ", ") + std::string(one.ending);
  throw ballast_error(errc::usage, printable(path.string()) +
                                       ": expected a file whose name ends in " +
                                       known);
}

void check_writable(const fs::path& path) {
  format_of(path);
  check_free(path, partial_path::kind::file);
}

std::unique_ptr<record_writer> open_writer(const fs::path& path,
                                           const fs::path& at,
                                           const schema_pointer& schema) {
  return std::make_unique<file_writer>(path, at, schema);
}

} // namespace ballast::data
