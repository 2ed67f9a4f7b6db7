#include "data/operators/row_batches.hpp"

#include "data/base/arrow_support.hpp"
#include "data/operators/large_pages.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/compute/api_vector.h>
#include <arrow/util/byte_size.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

// Below this, files of a block would have a few rows each.
constexpr uint64_t memory_bytes_min = 256 << 10;

int64_t bytes_of_array(const arrow::Array& array) {
  const arrow::Result<int64_t> exact = arrow::util::ReferencedBufferSize(array);
  // Not told for every type.
  return exact.ok() ? *exact : arrow::util::TotalBufferSize(array);
}

} // namespace

int64_t memory_of(const operator_context& context) {
  return int64_t(
      std::clamp(context.memory_bytes, memory_bytes_min, uint64_t{1} << 50));
}

batch_bytes bytes_of_columns(const arrow::RecordBatch& batch) {
  batch_bytes out;
  for (const std::shared_ptr<arrow::Array>& column : batch.columns()) {
    const auto* type =
        dynamic_cast<const arrow::FixedWidthType*>(column->type().get());
    const int64_t bytes =
        type == nullptr
            ? bytes_of_array(*column)
            : batch.num_rows() * type->bit_width() / 8 +
                  (column->null_bitmap() ? batch.num_rows() / 8 : 0);
    out.all += bytes;
    out.largest = std::max(out.largest, bytes);
  }
  return out;
}

int64_t bytes_of(const arrow::RecordBatch& batch) {
  return bytes_of_columns(batch).all;
}

std::shared_ptr<arrow::RecordBatch>
together(const std::shared_ptr<arrow::Schema>& schema,
         std::vector<std::shared_ptr<arrow::RecordBatch>> batches,
         const operator_context& context) {
  if (batches.size() == 1)
    return std::move(batches[0]);
  int64_t rows = 0;
  std::vector<arrow::ArrayVector> columns(size_t(schema->num_fields()));
  for (std::shared_ptr<arrow::RecordBatch>& batch : batches) {
    rows += batch->num_rows();
    for (size_t i = 0; i < columns.size(); ++i)
      columns[i].push_back(batch->column(int(i)));
    batch = nullptr;
  }
  arrow::ArrayVector out;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].empty())
      columns[i].push_back(
          take_arrow(arrow::MakeEmptyArray(schema->field(int(i))->type()),
                     errc::internal, printable(context.name)));
    out.push_back(take_arrow(arrow::Concatenate(columns[i], large_page_pool()),
                             errc::invalid_data, printable(context.name)));
    columns[i].clear();
  }
  return arrow::RecordBatch::Make(schema, rows, std::move(out));
}

std::shared_ptr<arrow::RecordBatch>
taken(const std::shared_ptr<arrow::RecordBatch>& batch,
      std::span<const uint32_t> rows, const operator_context& context) {
  bool all = int64_t(rows.size()) == batch->num_rows();
  for (size_t i = 0; all && i < rows.size(); ++i)
    all = rows[i] == i;
  if (all)
    return batch;
  const auto indices = std::make_shared<arrow::UInt32Array>(
      int64_t(rows.size()),
      arrow::Buffer::FromVector(row_indices(rows.begin(), rows.end())));
  arrow::ArrayVector out;
  for (const std::shared_ptr<arrow::Array>& column : batch->columns())
    out.push_back(take_arrow(
        arrow::compute::Take(*column, *indices,
                             arrow::compute::TakeOptions::NoBoundsCheck()),
        errc::invalid_data, printable(context.name)));
  return arrow::RecordBatch::Make(batch->schema(), int64_t(rows.size()),
                                  std::move(out));
}

std::shared_ptr<arrow::RecordBatch>
with_numbers(const std::shared_ptr<arrow::RecordBatch>& batch,
             const std::shared_ptr<arrow::Schema>& schema,
             std::vector<uint64_t> numbers) {
  arrow::ArrayVector columns = batch->columns();
  columns.push_back(std::make_shared<arrow::UInt64Array>(
      batch->num_rows(), arrow::Buffer::FromVector(std::move(numbers))));
  return arrow::RecordBatch::Make(schema, batch->num_rows(),
                                  std::move(columns));
}

std::shared_ptr<arrow::Schema>
with_numbers(const std::shared_ptr<arrow::Schema>& schema,
             const std::string& name) {
  arrow::FieldVector fields = schema->fields();
  fields.push_back(arrow::field(name, arrow::uint64(), false));
  return arrow::schema(std::move(fields));
}

std::span<const uint64_t> numbers_in(const arrow::RecordBatch& batch,
                                     int column) {
  const auto& array =
      static_cast<const arrow::UInt64Array&>(*batch.column(column));
  return {array.raw_values(), size_t(array.length())};
}

std::shared_ptr<arrow::RecordBatch>
first_columns(const std::shared_ptr<arrow::RecordBatch>& batch, size_t count) {
  if (size_t(batch->num_columns()) == count)
    return batch;
  arrow::ArrayVector columns = batch->columns();
  columns.resize(count);
  arrow::FieldVector fields = batch->schema()->fields();
  fields.resize(count);
  return arrow::RecordBatch::Make(arrow::schema(std::move(fields)),
                                  batch->num_rows(), std::move(columns));
}

row_meter::row_meter(const arrow::RecordBatch& batch)
    : rows_(batch.num_rows()) {
  for (const std::shared_ptr<arrow::Array>& column : batch.columns()) {
    const arrow::Type::type id = column->type_id();
    if (arrow::is_base_binary_like(id) && arrow::is_large_binary_like(id))
      texts_.push_back(
          {nullptr, static_cast<const arrow::LargeBinaryArray&>(*column)
                        .raw_value_offsets()});
    else if (arrow::is_base_binary_like(id))
      texts_.push_back(
          {static_cast<const arrow::BinaryArray&>(*column).raw_value_offsets(),
           nullptr});
    else if (const auto* type = dynamic_cast<const arrow::FixedWidthType*>(
                 column->type().get()))
      each_ += type->bit_width() / 8.0;
    else if (rows_ > 0)
      each_ += double(bytes_of_array(*column)) / double(rows_);
  }
}

size_t row_meter::that_fit(std::span<const uint32_t> rows, int64_t rows_max,
                           int64_t bytes_max) const {
  size_t most = std::min(rows.size(), size_t(rows_max));
  if (texts_.empty())
    return std::clamp<size_t>(
        size_t(double(bytes_max) / std::max(each_, 0.125)),
        std::min<size_t>(1, most), most);
  int64_t bytes = 0;
  for (size_t i = 0; i < most; ++i) {
    bytes += bytes_of(rows[i]);
    if (bytes > bytes_max && i > 0)
      return i;
  }
  return most;
}

int64_t row_meter::that_fit_from(int64_t first, int64_t rows_max,
                                 int64_t bytes_max) const {
  const int64_t most = std::min(rows_ - first, rows_max);
  if (texts_.empty())
    return std::clamp<int64_t>(
        int64_t(double(bytes_max) / std::max(each_, 0.125)),
        std::min<int64_t>(1, most), most);
  int64_t bytes = 0;
  for (int64_t i = 0; i < most; ++i) {
    bytes += bytes_of(uint32_t(first + i));
    if (bytes > bytes_max && i > 0)
      return i;
  }
  return most;
}

} // namespace ballast::data
