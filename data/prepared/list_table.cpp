#include "data/prepared/list_table.hpp"

#include "runtime/base/errors.hpp"

#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <string_view>

namespace ballast::data {

void write_list_table(const list_columns& columns,
                      std::shared_ptr<const arrow::KeyValueMetadata> about,
                      const std::shared_ptr<arrow::io::OutputStream>& to,
                      errc failed, const std::string& what) {
  std::vector<std::shared_ptr<arrow::Field>> fields;
  std::vector<std::shared_ptr<arrow::Array>> arrays;
  for (const auto& [name, array] : columns) {
    fields.push_back(arrow::field(name, array->type()));
    arrays.push_back(array);
  }
  const auto batch = arrow::RecordBatch::Make(
      arrow::schema(fields, std::move(about)), arrays[0]->length(), arrays);
  const auto writer = take_arrow(
      arrow::ipc::MakeStreamWriter(to, batch->schema()), failed, what);
  check_arrow(writer->WriteRecordBatch(*batch), failed, what);
  check_arrow(writer->Close(), failed, what);
  check_arrow(to->Close(), failed, what);
}

list_table_reader::list_table_reader(const std::string& bytes, std::string name)
    : name_(std::move(name)) {
  const auto in = std::make_shared<arrow::io::BufferReader>(
      std::make_shared<arrow::Buffer>(std::string_view(bytes)));
  const auto reader = take_arrow(arrow::ipc::RecordBatchStreamReader::Open(in),
                                 errc::invalid_data, name_);
  check_arrow(reader->ReadNext(&batch_), errc::invalid_data, name_);
  if (batch_ == nullptr)
    refuse("it is empty");
  check_arrow(batch_->ValidateFull(), errc::invalid_data, name_);
}

void list_table_reader::refuse(const std::string& why) const {
  throw ballast_error(errc::invalid_data, name_ + ": " + why);
}

std::string list_table_reader::metadata(const char* key) const {
  const auto& all = batch_->schema()->metadata();
  return all == nullptr ? "" : all->Get(key).ValueOr("");
}

std::pair<int64_t, int64_t> same_list(const list_table_reader& in,
                                      const arrow::LargeListArray& a,
                                      const arrow::LargeListArray& b,
                                      size_t row) {
  const auto at = int64_t(row);
  if (a.value_length(at) != b.value_length(at) ||
      a.value_offset(at) != b.value_offset(at))
    in.refuse("chunk " + std::to_string(row) + " has lists of unequal length");
  return {a.value_offset(at), a.value_offset(at) + a.value_length(at)};
}

} // namespace ballast::data
