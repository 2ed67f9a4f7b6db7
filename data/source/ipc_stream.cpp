#include "data/source/ipc_stream.hpp"

#include "data/source/batch_pieces.hpp"

#include <arrow/ipc/reader.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <cstring>

namespace ballast::data {

namespace {

constexpr std::string_view ipc_magic = "ARROW1";
constexpr const char* reading_ipc = "cannot be read as Arrow IPC";

/// Batch by batch, whether from a file or from a stream.
class ipc_batches {
public:
  virtual ~ipc_batches() = default;
  virtual std::shared_ptr<arrow::Schema> schema() const = 0;
  /// Null at the end.
  virtual std::shared_ptr<arrow::RecordBatch> next() = 0;
};

arrow::ipc::IpcReadOptions ipc_options(const std::vector<int>& columns) {
  auto out = arrow::ipc::IpcReadOptions::Defaults();
  out.memory_pool = limited_pool();
  out.included_fields = columns;
  // Files of others may be aligned to less than their types are.
  out.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  return out;
}

class batches_of_file : public ipc_batches {
public:
  batches_of_file(const stream_file& file, const std::vector<int>& columns)
      : file_(file),
        reader_(file.take_sound(arrow::ipc::RecordBatchFileReader::Open(
                                    file.file(), ipc_options(columns)),
                                reading_ipc)) {}
  std::shared_ptr<arrow::Schema> schema() const override {
    return reader_->schema();
  }
  std::shared_ptr<arrow::RecordBatch> next() override {
    if (at_ == reader_->num_record_batches())
      return nullptr;
    return file_.take_sound(reader_->ReadRecordBatch(at_++), reading_ipc);
  }

private:
  const stream_file& file_;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> reader_;
  int at_ = 0;
};

class batches_of_stream : public ipc_batches {
public:
  batches_of_stream(const stream_file& file, const std::vector<int>& columns)
      : file_(file) {
    file.check(file.file()->Seek(0), reading_ipc);
    reader_ = file.take_sound(arrow::ipc::RecordBatchStreamReader::Open(
                                  file.file(), ipc_options(columns)),
                              reading_ipc);
  }
  std::shared_ptr<arrow::Schema> schema() const override {
    return reader_->schema();
  }
  std::shared_ptr<arrow::RecordBatch> next() override {
    const int64_t before = file_.take(file_.file()->Tell(), reading_ipc);
    std::shared_ptr<arrow::RecordBatch> out;
    file_.check_sound(reader_->ReadNext(&out), reading_ipc);
    if (out == nullptr)
      check_end(before);
    return out;
  }

private:
  /// Arrow takes the end of a file for that of its stream, and does not look at
  /// what follows an end mark.
  void check_end(int64_t before) {
    const int64_t at = file_.take(file_.file()->Tell(), reading_ipc);
    if (!ended_ && (at == before || file_.part(at - 4, 4) != std::string(4, 0)))
      file_.refuse("breaks off: the Arrow stream has no end mark, so rows may "
                   "be missing; close its writer, or fetch the file again");
    ended_ = true;
    if (at < file_.size())
      file_.refuse(std::to_string(file_.size() - at) +
                   " bytes follow the end of the Arrow stream; put each stream "
                   "into a file of its own");
  }

  const stream_file& file_;
  std::shared_ptr<arrow::ipc::RecordBatchStreamReader> reader_;
  bool ended_ = false;
};

class ipc_stream : public record_stream {
public:
  explicit ipc_stream(stream_input input) : file_(std::move(input)) {
    is_file_ = look();
    batches_ = open({});
    fields_ = batches_->schema()->num_fields();
    schema_ = plain_schema(batches_->schema());
    columns_ = chosen_columns(fields_);
  }

  std::shared_ptr<arrow::Schema> schema() override { return schema_; }

  bool has_rows() override {
    const auto look = fields_ == 0 ? nullptr : open({0});
    while (const auto batch = look == nullptr ? nullptr : look->next())
      if (batch->num_rows() > 0)
        return true;
    return false;
  }

  void choose(std::vector<int> columns) override {
    columns_ = chosen_columns(fields_, columns);
    batches_ = open(columns_.to_read());
  }

  std::shared_ptr<arrow::RecordBatch> next() override {
    file_.check_stop();
    return file_.take(pieces_.next([this] { return read(); }), reading_ipc);
  }

  std::string place_of(int64_t row) const override {
    return file_.name() + ": row " +
           std::to_string(pieces_.rows_before() + row + 1);
  }

private:
  std::shared_ptr<arrow::RecordBatch> read() {
    file_.check_stop();
    const std::shared_ptr<arrow::RecordBatch> batch = batches_->next();
    if (batch == nullptr)
      return nullptr;
    // Offsets of a damaged file would be followed anywhere.
    file_.check(batch->ValidateFull(), damaged_after(pieces_.rows()));
    return columns_.pick(batch);
  }

  /// True for a file with its table of batches at the end.
  bool look() const {
    constexpr int64_t looked_at = 64;
    const std::string head = file_.head(looked_at);
    const std::string tail = file_.tail(looked_at);
    if (head.empty())
      file_.refuse("is empty; expected an Arrow IPC file or stream");
    if (head.starts_with(ipc_magic)) {
      if (!tail.ends_with(ipc_magic) ||
          file_.size() < int64_t(3 * ipc_magic.size()))
        file_.refuse("is truncated: an Arrow IPC file ends with ARROW1; fetch "
                     "or write it again");
      return true;
    }
    uint32_t first = 0;
    std::memcpy(&first, head.data(), std::min(head.size(), sizeof first));
    if (first == 0xFFFFFFFF)
      return false;
    const known_content is = content_of(head, tail);
    if (!is.name.empty())
      file_.refuse("this is " + std::string(is.name) + "; " +
                   std::string(is.remedy));
    // Before version 0.15 a stream began with the length of its schema.
    if (first < 8 || int64_t(first) > file_.size() - 4)
      file_.refuse("is neither an Arrow IPC file nor an Arrow stream");
    return false;
  }

  std::unique_ptr<ipc_batches> open(const std::vector<int>& columns) const {
    if (is_file_)
      return std::make_unique<batches_of_file>(file_, columns);
    return std::make_unique<batches_of_stream>(file_, columns);
  }

  stream_file file_;
  bool is_file_ = false;
  std::unique_ptr<ipc_batches> batches_;
  std::shared_ptr<arrow::Schema> schema_;
  int fields_ = 0;
  chosen_columns columns_{0};
  batch_pieces pieces_;
};

} // namespace

std::unique_ptr<record_stream> open_ipc_stream(stream_input input) {
  return std::make_unique<ipc_stream>(std::move(input));
}

} // namespace ballast::data
