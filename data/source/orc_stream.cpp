#include "data/source/orc_stream.hpp"

#include "data/source/batch_pieces.hpp"

#include <arrow/adapters/orc/adapter.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <arrow/util/byte_size.h>

#include <algorithm>
#include <exception>
#include <type_traits>

namespace ballast::data {

namespace {

constexpr const char* reading_orc = "cannot be read as ORC";
// A block is unpacked in memory as a whole; writers use 64 KiB to 256 KiB.
constexpr int64_t orc_block_max = 256 << 20;
// Rows that are read at once: as many as fill this, by the first ones.
constexpr int64_t orc_batch_bytes = 16 << 20;
constexpr int64_t orc_rows_min = 64;
constexpr int64_t orc_rows_max = 1 << 16;

class orc_stream : public record_stream {
public:
  explicit orc_stream(stream_input input) : file_(std::move(input)) {
    look();
    reader_ = guarded([&] {
      return arrow::adapters::orc::ORCFileReader::Open(file_.file(),
                                                       limited_pool());
    });
    if (reader_->GetCompressionSize() > orc_block_max)
      file_.refuse("is damaged, or no ORC file: its blocks are said to have " +
                   std::to_string(reader_->GetCompressionSize()) +
                   " bytes, at most " + std::to_string(orc_block_max) +
                   " are read");
    schema_ = guarded([&] { return reader_->ReadSchema(); });
    columns_ = chosen_columns(schema_->num_fields());
  }

  std::shared_ptr<arrow::Schema> schema() override { return schema_; }

  bool has_rows() override { return reader_->NumberOfRows() > 0; }

  void choose(std::vector<int> columns) override {
    columns_ = chosen_columns(schema_->num_fields(), columns);
  }

  std::shared_ptr<arrow::RecordBatch> next() override {
    file_.check_stop();
    return file_.take(pieces_.next([this] { return read(); }), reading_orc);
  }

  std::string place_of(int64_t row) const override {
    return file_.name() + ": row " +
           std::to_string(pieces_.rows_before() + row + 1);
  }

private:
  void look() {
    constexpr int64_t looked_at = 64;
    const std::string head = file_.head(looked_at);
    if (head.empty())
      file_.refuse("is empty; expected an ORC file");
    const std::string tail = file_.tail(looked_at);
    is_whole_ = has_mark(tail);
    if (head.starts_with("ORC"))
      return;
    const known_content is = content_of(head, tail);
    if (!is.name.empty())
      file_.refuse("this is " + std::string(is.name) + "; " +
                   std::string(is.remedy));
    file_.refuse("is no ORC file");
  }

  /// Old writers put none there.
  static bool has_mark(const std::string& tail) {
    constexpr size_t mark = 3;
    return tail.size() > mark + 1 &&
           tail.compare(tail.size() - 1 - mark, mark, "ORC") == 0;
  }

  const char* damage() const {
    return is_whole_ || reader_ ? "is damaged" : "is truncated or damaged";
  }

  /// The adapter turns most of the library's exceptions into a Status.
  template <class Call>
  typename std::invoke_result_t<Call>::ValueType guarded(Call call) const {
    const std::string doing =
        std::string(reading_orc) +
        (rows_read_ > 0 ? " after row " + std::to_string(rows_read_) : "");
    std::string thrown;
    try {
      return file_.take_sound(call(), doing, damage());
    } catch (const ballast_error&) {
      throw;
    } catch (const std::exception& error) {
      thrown = error.what();
    }
    file_.check_sound(arrow::Status::IOError(thrown), doing, damage());
    file_.refuse(doing);
  }

  std::shared_ptr<arrow::RecordBatch> read() {
    file_.check_stop();
    if (batches_ == nullptr)
      begin();
    const std::shared_ptr<arrow::RecordBatch> batch =
        guarded([&] { return batches_->Next(); });
    if (batch == nullptr) {
      check_rows();
      return nullptr;
    }
    rows_read_ += batch->num_rows();
    file_.check(batch->ValidateFull(), damaged_after(pieces_.rows()));
    return read_all_ ? columns_.pick_of_all(batch) : columns_.pick(batch);
  }

  /// Not stripe by stripe: seeking to one makes the library follow the row
  /// index, and it crashes where that is damaged.
  void begin() {
    const std::vector<std::string> names = names_to_read();
    read_all_ = names.empty();
    const auto open = [&](int64_t rows) {
      return guarded(
          [&] { return reader_->GetRecordBatchReader(rows, names); });
    };
    // Some rows tell how many make a batch.
    const std::shared_ptr<arrow::RecordBatch> sample =
        guarded([&, first = open(orc_rows_min)] { return first->Next(); });
    int64_t rows = orc_rows_min;
    if (sample != nullptr && sample->num_rows() > 0)
      rows = std::clamp<int64_t>(
          orc_batch_bytes * sample->num_rows() /
              std::max<int64_t>(1, arrow::util::TotalBufferSize(*sample)),
          orc_rows_min, orc_rows_max);
    batches_ = open(rows);
  }

  /// Empty: all. The library wants names, and takes a point in one for the way
  /// into a struct.
  std::vector<std::string> names_to_read() const {
    std::vector<std::string> out;
    if (columns_.all())
      return out;
    for (int column : columns_.to_read()) {
      const std::string& name = schema_->field(column)->name();
      if (name.find_first_of(".`") != std::string::npos ||
          schema_->GetAllFieldIndices(name).size() > 1)
        return {};
      out.push_back(name);
    }
    return out;
  }

  void check_rows() const {
    if (rows_read_ != reader_->NumberOfRows())
      file_.refuse("is damaged: it claims " +
                   std::to_string(reader_->NumberOfRows()) + " rows and has " +
                   std::to_string(rows_read_) + "; write it again");
  }

  stream_file file_;
  std::unique_ptr<arrow::adapters::orc::ORCFileReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;
  chosen_columns columns_{0};
  bool is_whole_ = true; // as far as its last bytes tell
  bool read_all_ = true; // columns, whatever was chosen
  std::shared_ptr<arrow::RecordBatchReader> batches_;
  int64_t rows_read_ = 0;
  batch_pieces pieces_;
};

} // namespace

std::unique_ptr<record_stream> open_orc_stream(stream_input input) {
  return std::make_unique<orc_stream>(std::move(input));
}

} // namespace ballast::data
