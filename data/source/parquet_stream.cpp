#include "data/source/parquet_stream.hpp"

#include "data/source/batch_pieces.hpp"
#include "data/source/source_error.hpp"
#include "runtime/base/printable.hpp"

#include <arrow/api.h>
#include <arrow/io/caching.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>

#include <algorithm>
#include <utility>

namespace ballast::data {

namespace {

class parquet_stream final : public record_stream {
public:
  explicit parquet_stream(stream_input input)
      : path_(input.name), pointer_(input.pointer), from_(std::move(input)) {
    look();
    guarded([&] {
      reader_ = take(
          parquet::arrow::OpenFile(from_.file(), arrow::default_memory_pool()));
      arrow::FieldVector fields;
      for (const auto& one : reader_->manifest().schema_fields) {
        fields.push_back(one.field);
        leaves_.push_back(one.is_leaf() ? one.column_index : -1);
      }
      stored_ = arrow::schema(std::move(fields));
      schema_ = plain_schema(stored_);
    });
    for (int i = 0; i < schema_->num_fields(); ++i)
      chosen_.push_back(i);
  }

  std::shared_ptr<arrow::Schema> schema() override { return schema_; }
  bool has_rows() override {
    return reader_->parquet_reader()->metadata()->num_rows() > 0;
  }

  void choose(std::vector<int> columns) override {
    for (int i : columns)
      if (leaves_.at(size_t(i)) < 0)
        throw ballast_error(errc::invalid_data,
                            printable(path_) + ": column '" +
                                printable(schema_->field(i)->name()) +
                                "' holds lists or structs, which are not "
                                "read of Parquet; expected numbers or text: "
                                "\"drop\" the column, or \"select\" others",
                            pointer_);
    chosen_ = std::move(columns);
  }

  std::shared_ptr<arrow::RecordBatch> next() override {
    std::shared_ptr<arrow::RecordBatch> out;
    guarded([&] { out = take(pieces_.next([this] { return read(); })); });
    return out;
  }

  std::string place_of(int64_t row) const override {
    return printable(path_) + ": row " +
           std::to_string(pieces_.rows_before() + row + 1);
  }

private:
  void look() const {
    constexpr int64_t looked_at = 64;
    constexpr std::string_view magic = "PAR1";
    const std::string head = from_.head(looked_at);
    const std::string tail = from_.tail(looked_at);
    if (head.empty())
      from_.refuse("is empty; expected a Parquet file");
    if (tail.ends_with(magic) && from_.size() >= int64_t(3 * magic.size()))
      return;
    if (head.starts_with(magic))
      from_.refuse("is truncated: a Parquet file ends with PAR1; fetch or "
                   "write it again");
    const known_content is = content_of(head, tail);
    if (!is.name.empty())
      from_.refuse("this is " + std::string(is.name) + "; " +
                   std::string(is.remedy));
    from_.refuse("is no Parquet file");
  }

  /// Null at the end.
  std::shared_ptr<arrow::RecordBatch> read() {
    std::shared_ptr<arrow::RecordBatch> out;
    while (out == nullptr) {
      if (batches_)
        check(batches_->ReadNext(&out));
      if (out && out->num_rows() == 0)
        out = nullptr;
      else if (!out && !next_group())
        return nullptr;
    }
    return in_order(*out);
  }
  void check(const arrow::Status& status) const {
    from_.check_sound(status,
                      "cannot be read as Parquet" +
                          (pieces_.rows() > 0
                               ? " after row " + std::to_string(pieces_.rows())
                               : std::string()));
  }
  template <class T>
  T take(arrow::Result<T> result) const {
    check(result.status());
    return std::move(result).ValueUnsafe();
  }
  /// Parquet throws, Arrow returns.
  template <class Work>
  void guarded(Work work) const {
    try {
      work();
    } catch (const parquet::ParquetException& error) {
      check(arrow::Status::Invalid(error.what()));
    }
  }

  /// One row group at a time, to bound the memory.
  bool next_group() {
    if (group_ == reader_->num_row_groups())
      return false;
    std::vector<int> leaves;
    for (int i : chosen_)
      leaves.push_back(leaves_[size_t(i)]);
    std::sort(leaves.begin(), leaves.end());
    leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
    table_ = take(reader_->ReadRowGroup(group_++, leaves));
    ask_ahead(leaves);
    batches_ = std::make_unique<arrow::TableBatchReader>(*table_);
    return true;
  }

  /// A store sends the next row group while this one is used.
  void ask_ahead(const std::vector<int>& leaves) const {
    if (group_ == reader_->num_row_groups())
      return;
    // As the reader will gather them, or it would not find them.
    const auto as_gathered = arrow::io::CacheOptions::LazyDefaults();
    check(from_.file()->WillNeed(take(reader_->parquet_reader()->GetReadRanges(
        {group_}, leaves, as_gathered.hole_size_limit,
        as_gathered.range_size_limit))));
  }

  /// The reader returns columns in the order of the file.
  std::shared_ptr<arrow::RecordBatch>
  in_order(const arrow::RecordBatch& read) const {
    arrow::FieldVector fields;
    arrow::ArrayVector arrays;
    for (int i : chosen_) {
      fields.push_back(stored_->field(i));
      arrays.push_back(read.GetColumnByName(stored_->field(i)->name()));
    }
    return arrow::RecordBatch::Make(arrow::schema(std::move(fields)),
                                    read.num_rows(), std::move(arrays));
  }

  const std::string path_;
  const std::string pointer_;
  const stream_file from_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::Schema> stored_;
  std::shared_ptr<arrow::Schema> schema_; // of plain values
  std::vector<int> leaves_;               // column in Parquet's own numbering
  std::vector<int> chosen_;
  int group_ = 0;
  std::shared_ptr<arrow::Table> table_;
  std::unique_ptr<arrow::TableBatchReader> batches_; // of table_
  batch_pieces pieces_;
};

} // namespace

std::unique_ptr<record_stream> open_parquet(stream_input input) {
  return std::make_unique<parquet_stream>(std::move(input));
}

} // namespace ballast::data
