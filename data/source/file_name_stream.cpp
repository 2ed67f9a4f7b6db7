#include "data/source/file_name_stream.hpp"

#include "data/base/arrow_support.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>

#include <utility>

namespace ballast::data {

namespace {

class file_name_stream final : public record_stream {
public:
  explicit file_name_stream(const stored_file& file)
      : name_(file.name), row_(row_of(file)), schema_(row_->schema()) {}

  std::shared_ptr<arrow::Schema> schema() override { return schema_; }
  void choose(std::vector<int> columns) override {
    row_ = take_arrow(row_->SelectColumns(columns), errc::internal,
                      printable(name_));
  }
  std::shared_ptr<arrow::RecordBatch> next() override {
    return std::exchange(row_, nullptr);
  }
  std::string place_of(int64_t /*row*/) const override {
    return printable(name_);
  }

private:
  static std::shared_ptr<arrow::RecordBatch> row_of(const stored_file& file) {
    arrow::StringBuilder path;
    arrow::Int64Builder bytes;
    check_arrow(path.Append(file.name), errc::device_failed, "a file's name");
    check_arrow(bytes.Append(int64_t(file.size)), errc::device_failed,
                "a file's size");
    return arrow::RecordBatch::Make(
        arrow::schema({arrow::field("path", arrow::utf8(), false),
                       arrow::field("bytes", arrow::int64(), false)}),
        1,
        {take_arrow(path.Finish(), errc::device_failed, "a file's name"),
         take_arrow(bytes.Finish(), errc::device_failed, "a file's size")});
  }

  const std::string name_;
  std::shared_ptr<arrow::RecordBatch> row_; // null: it was read
  const std::shared_ptr<arrow::Schema> schema_;
};

} // namespace

std::unique_ptr<record_stream> open_file_name(const stored_file& file) {
  return std::make_unique<file_name_stream>(file);
}

} // namespace ballast::data
