#include "data/store/chunk.hpp"

#include "data/base/arrow_support.hpp"
#include "data/base/content_hash.hpp"
#include "runtime/base/check.hpp"

#include <arrow/api.h>
#include <arrow/util/align_util.h>
#include <cstring>

namespace ballast::data {

namespace {

std::shared_ptr<arrow::DataType> arrow_type(ledger::stored_type stored) {
  switch (stored) {
  case ledger::stored_type::uint8:
    return arrow::uint8();
  case ledger::stored_type::int16:
    return arrow::int16();
  case ledger::stored_type::int32:
    return arrow::int32();
  case ledger::stored_type::float32:
    return arrow::float32();
  }
  BALLAST_CHECK(false, "values of no type");
}

/// First value of a column without nulls, slices taken into account.
template <class T>
const T* values_of(const arrow::ArrayData& column) {
  return column.GetValues<T>(1);
}

bool aligned(const arrow::RecordBatch& batch) {
  auto at = [](const void* pointer, size_t alignment) {
    return reinterpret_cast<uintptr_t>(pointer) % alignment == 0;
  };
  const arrow::ArrayData& values = *batch.column_data(0)->child_data[0];
  return at(values.buffers[1]->data(), 4) &&
         at(batch.column_data(1)->buffers[1]->data(), 4) &&
         at(batch.column_data(2)->buffers[1]->data(), 8);
}

uint64_t held_bytes(const arrow::ArrayData& column) {
  uint64_t out = 0;
  for (const std::shared_ptr<arrow::Buffer>& buffer : column.buffers)
    if (buffer)
      out += uint64_t(buffer->size());
  for (const std::shared_ptr<arrow::ArrayData>& child : column.child_data)
    out += held_bytes(*child);
  return out;
}

/// Of the memory of a chunk.
class values_buffer final : public arrow::Buffer {
public:
  values_buffer(const void* values, size_t bytes,
                std::shared_ptr<const void> owner)
      : arrow::Buffer(static_cast<const uint8_t*>(values), int64_t(bytes)),
        owner_(std::move(owner)) {}

private:
  std::shared_ptr<const void> owner_;
};

size_t values_in_row(const arrow::Schema& schema) {
  return size_t(
      static_cast<const arrow::FixedSizeListType&>(*schema.field(0)->type())
          .list_size());
}

std::shared_ptr<arrow::DataType> value_type(const arrow::Schema& schema) {
  return static_cast<const arrow::FixedSizeListType&>(*schema.field(0)->type())
      .value_type();
}

[[noreturn]] void refuse(chunk_id id, const std::string& why) {
  throw ballast_error(errc::invalid_data,
                      "chunk " + to_string(id) + " " + why +
                          "; prepare the data again with this build");
}

} // namespace

std::string to_string(data_part part) {
  return part == data_part::train ? "train" : "test";
}

size_t stored_bytes(ledger::stored_type stored) {
  switch (stored) {
  case ledger::stored_type::uint8:
    return 1;
  case ledger::stored_type::int16:
    return 2;
  case ledger::stored_type::int32:
  case ledger::stored_type::float32:
    return 4;
  }
  return 0;
}

size_t row_bytes(const ledger::row_shape& row) {
  return row.features * stored_bytes(row.stored);
}

std::shared_ptr<arrow::Schema> chunk_schema(const ledger::row_shape& row) {
  auto item = arrow::field("item", arrow_type(row.stored), false);
  return arrow::schema(
      {arrow::field("features",
                    arrow::fixed_size_list(item, int32_t(row.features)), false),
       arrow::field("label",
                    row.classes > 0 ? arrow::int32() : arrow::float32(), false),
       arrow::field("sample_id", arrow::uint64(), false)});
}

std::shared_ptr<arrow::RecordBatch> make_batch(const ledger::row_shape& row,
                                               chunk_columns columns) {
  return make_batch(chunk_schema(row), std::move(columns));
}

std::shared_ptr<arrow::RecordBatch>
make_batch(std::shared_ptr<arrow::Schema> schema, chunk_columns columns) {
  const auto kept = std::make_shared<const chunk_columns>(std::move(columns));
  chunk out;
  out.rows = uint32_t(kept->sample_ids.size());
  out.features = kept->features.data();
  if (schema->field(1)->type()->id() == arrow::Type::INT32)
    out.labels = kept->labels.data();
  else
    out.targets = kept->targets.data();
  out.sample_ids = kept->sample_ids.data();
  out.schema = std::move(schema);
  out.memory = kept;
  return batch_of(out);
}

chunk_ptr make_chunk(chunk_id id, const ledger::row_shape& row,
                     std::shared_ptr<arrow::RecordBatch> batch) {
  const std::shared_ptr<arrow::Schema> expected = chunk_schema(row);
  if (!batch->schema()->Equals(*expected, /*check_metadata=*/false))
    refuse(id, "has the columns [" + batch->schema()->ToString() +
                   "], expected [" + expected->ToString() + "]");
  if (batch->num_rows() > int64_t(UINT32_MAX))
    refuse(id, "has more than 2^32 rows");
  // A peer or a file may claim buffer sizes that do not match: validate them.
  if (arrow::Status valid = batch->Validate(); !valid.ok())
    refuse(id, "is damaged: " + valid.message());
  for (int column = 0; column < batch->num_columns(); ++column)
    if (batch->column_data(column)->GetNullCount() > 0)
      refuse(id, "has empty values in " + batch->column_name(column));
  if (batch->column_data(0)->child_data[0]->GetNullCount() > 0)
    refuse(id, "has empty values in its features");
  if (batch->num_rows() > 0 && !aligned(*batch))
    batch = take_arrow(
        arrow::util::EnsureAlignment(batch, arrow::util::kValueAlignment,
                                     arrow::default_memory_pool()),
        errc::invalid_data, "chunk " + to_string(id));

  auto out = std::make_shared<chunk>();
  out->id = id;
  out->rows = uint32_t(batch->num_rows());
  const arrow::ArrayData& list = *batch->column_data(0);
  const arrow::ArrayData& values = *list.child_data[0];
  const size_t first =
      size_t(list.offset) * row.features + size_t(values.offset);
  out->features = values.buffers[1]->data() + first * stored_bytes(row.stored);
  if (row.classes > 0)
    out->labels = values_of<int32_t>(*batch->column_data(1));
  else
    out->targets = values_of<float>(*batch->column_data(1));
  out->sample_ids = values_of<uint64_t>(*batch->column_data(2));
  for (int column = 0; column < batch->num_columns(); ++column)
    out->bytes += held_bytes(*batch->column_data(column));
  // A class that the model lacks would index beyond its outputs.
  if (row.classes > 0)
    for (uint32_t i = 0; i < out->rows; ++i)
      if (uint32_t(out->labels[i]) >= row.classes)
        refuse(id, "has label " + std::to_string(out->labels[i]) + " in row " +
                       std::to_string(i) + ", there are " +
                       std::to_string(row.classes) + " classes");
  out->schema = batch->schema();
  out->memory = std::move(batch);
  return out;
}

std::shared_ptr<arrow::RecordBatch> batch_of(const chunk& what) {
  const auto column = [&](const std::shared_ptr<arrow::DataType>& type,
                          const void* values, size_t count) {
    auto buffer = std::make_shared<values_buffer>(
        values, count * size_t(type->byte_width()), what.memory);
    return arrow::ArrayData::Make(type, int64_t(count),
                                  {nullptr, std::move(buffer)}, 0);
  };
  const arrow::Schema& schema = *what.schema;
  const size_t rows = what.rows;
  auto features = arrow::ArrayData::Make(
      schema.field(0)->type(), int64_t(rows), {nullptr},
      {column(value_type(schema), what.features, rows * values_in_row(schema))},
      0);
  const void* label = what.labels != nullptr
                          ? static_cast<const void*>(what.labels)
                          : what.targets;
  return arrow::RecordBatch::Make(
      what.schema, int64_t(rows),
      {std::move(features), column(schema.field(1)->type(), label, rows),
       column(schema.field(2)->type(), what.sample_ids, rows)});
}

chunk_ptr compact(chunk_ptr what) {
  constexpr uint64_t small_bytes = 64 << 10;
  if (what->bytes > small_bytes)
    return what;
  const size_t rows = what->rows;
  const size_t features = rows * values_in_row(*what->schema) *
                          size_t(value_type(*what->schema)->byte_width());
  const size_t ids = rows * sizeof(uint64_t);
  const size_t labels = rows * sizeof(int32_t);
  // From Arrow's allocator, whose regions the kernel backs with huge pages: a
  // process with many small pages takes long to end. The widest values come
  // first, so that all are aligned.
  const std::shared_ptr<arrow::Buffer> block =
      take_arrow(arrow::AllocateBuffer(int64_t(ids + labels + features)),
                 errc::device_failed, "chunk " + to_string(what->id));
  uint8_t* at = block->mutable_data();
  auto out = std::make_shared<chunk>(*what);
  out->sample_ids =
      static_cast<const uint64_t*>(std::memcpy(at, what->sample_ids, ids));
  const void* label = what->labels != nullptr
                          ? static_cast<const void*>(what->labels)
                          : what->targets;
  const void* copied = std::memcpy(at + ids, label, labels);
  if (what->labels != nullptr)
    out->labels = static_cast<const int32_t*>(copied);
  else
    out->targets = static_cast<const float*>(copied);
  out->features = std::memcpy(at + ids + labels, what->features, features);
  out->bytes = ids + labels + features;
  out->memory = block;
  return out;
}

chunk_ptr chunk_within(const chunk& several, chunk_id id, uint32_t begin,
                       uint32_t rows, const ledger::row_shape& row) {
  auto out = std::make_shared<chunk>();
  const size_t values = row_bytes(row);
  out->id = id;
  out->rows = rows;
  out->features =
      static_cast<const unsigned char*>(several.features) + begin * values;
  out->labels = several.labels != nullptr ? several.labels + begin : nullptr;
  out->targets = several.targets != nullptr ? several.targets + begin : nullptr;
  out->sample_ids = several.sample_ids + begin;
  out->bytes = rows * (values + sizeof(int32_t) + sizeof(uint64_t));
  out->memory = several.memory;
  out->schema = several.schema;
  return out;
}

chunk_ptr damaged_copy(const chunk& what) {
  struct damaged {
    std::shared_ptr<const void> rest;
    std::vector<uint64_t> ids;
  };
  auto kept = std::make_shared<damaged>(
      damaged{what.memory, {what.sample_ids, what.sample_ids + what.rows}});
  if (!kept->ids.empty())
    kept->ids[0] ^= 0xff;
  auto out = std::make_shared<chunk>(what);
  out->sample_ids = kept->ids.data();
  out->memory = std::move(kept);
  return out;
}

std::string checksum(const chunk& what, const ledger::row_shape& row) {
  content_hash hash;
  const size_t rows = what.rows;
  hash.update(what.features, rows * row_bytes(row));
  if (what.labels != nullptr)
    hash.update(what.labels, rows * sizeof(int32_t));
  else
    hash.update(what.targets, rows * sizeof(float));
  hash.update(what.sample_ids, rows * sizeof(uint64_t));
  return hex16(hash.digest());
}

std::string checksum(const arrow::RecordBatch& of) {
  content_hash hash;
  for (const std::shared_ptr<arrow::ArrayData>& column : of.column_data()) {
    const arrow::ArrayData* values = column.get();
    int64_t first = values->offset;
    int64_t count = values->length;
    if (!values->child_data.empty()) {
      const auto& list =
          static_cast<const arrow::FixedSizeListType&>(*values->type);
      values = values->child_data[0].get();
      first = first * list.list_size() + values->offset;
      count *= list.list_size();
    }
    const int64_t bytes = values->type->byte_width();
    hash.update(values->buffers[1]->data() + first * bytes,
                size_t(count * bytes));
  }
  return hex16(hash.digest());
}

} // namespace ballast::data
