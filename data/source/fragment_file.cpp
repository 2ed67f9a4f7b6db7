#include "data/source/fragment_file.hpp"

#include "data/base/arrow_support.hpp"
#include "data/base/content_hash.hpp"
#include "data/base/stored_values.hpp"
#include "data/store/chunk.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"
#include "store/atomic_file.hpp"

#include <algorithm>
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

namespace ballast::data {

namespace {

using ledger::stored_type;
using nlohmann::json;

constexpr const char* about_key = "ballast.fragment";
constexpr const char* faults_key = "ballast.faults";
/// Behind the Arrow file: this, and the hash of all that is before.
constexpr std::string_view mark = "fragment";
constexpr size_t trailer_bytes = 8 + 16;
constexpr uint64_t batch_bytes = 4 << 20;

/// What Arrow writes, on its way to the disk.
class hashed_output final : public arrow::io::OutputStream {
public:
  explicit hashed_output(const std::filesystem::path& path)
      : file_(path, {.durability = store::outlives::process,
                     .permissions = 0600,
                     .fault = [](const char* action) {
                       return action == std::string_view("write")
                                  ? fault_point("fragment.write")
                                  : 0;
                     }}) {}

  arrow::Status Write(const void* bytes, int64_t count) override {
    try {
      file_.append(bytes, size_t(count));
    } catch (const store::file_failure& problem) {
      failed_ = problem.number();
      return arrow::Status::IOError("a write failed");
    }
    hash_.update(bytes, size_t(count));
    at_ += count;
    return arrow::Status::OK();
  }
  arrow::Result<int64_t> Tell() const override { return at_; }
  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }
  int failed() const { return failed_; }
  void publish() {
    file_.append(std::string(mark) + hex16(hash_.digest()));
    file_.publish();
  }

private:
  store::atomic_file file_;
  content_hash hash_;
  int64_t at_ = 0;
  int failed_ = 0;
};

std::shared_ptr<arrow::Array> texts_array(const std::vector<std::string>& all) {
  arrow::BinaryBuilder out;
  for (const std::string& one : all)
    check_arrow(out.Append(one), errc::internal, "a fragment's texts");
  return take_arrow(out.Finish(), errc::internal, "a fragment's texts");
}

std::shared_ptr<arrow::DataType> text_type() {
  return arrow::dictionary(arrow::int32(), arrow::binary());
}

/// Numbers in memory, not copied.
template <class ArrayType, class T>
std::shared_ptr<arrow::Array> numbers(const std::vector<T>& all, uint64_t first,
                                      uint64_t count) {
  return std::make_shared<ArrayType>(
      int64_t(count), std::make_shared<arrow::Buffer>(
                          reinterpret_cast<const uint8_t*>(all.data() + first),
                          int64_t(count * sizeof(T))));
}

std::shared_ptr<arrow::Array>
numbered_texts(std::shared_ptr<arrow::Array> indices,
               const std::shared_ptr<arrow::Array>& texts) {
  return std::make_shared<arrow::DictionaryArray>(text_type(),
                                                  std::move(indices), texts);
}

/// Writes one fragment.
class fragment_writer {
public:
  fragment_writer(const table_fragment& from, arrow::io::OutputStream& to,
                  const store::work_watch& stop)
      : from_(from), table_(from.table), to_(to), stop_(stop),
        lies_as_(table_.elsewhere ? table_.elsewhere->stored()
                                  : table_.row.stored),
        stored_(lies_as_) {
    for (const placement::kept_column& one : table_.kept)
      kept_.push_back(texts_array(one.texts));
    names_ = texts_array(table_.class_names);
    step_ = std::max<uint64_t>(
        1, batch_bytes / std::max<uint64_t>(1, row_bytes_of(lies_as_)));
  }

  void write() {
    choose_stored();
    auto out = take(arrow::ipc::MakeFileWriter(&to_, schema()));
    uint64_t first = 0;
    do {
      check_stop(stop_);
      const uint64_t count = std::min(step_, table_.rows - first);
      check(out->WriteRecordBatch(*batch(first, count)));
      first += count;
    } while (first < table_.rows);
    check(out->Close());
  }

private:
  static constexpr const char* context = "a fragment";
  static void check(const arrow::Status& status) {
    check_arrow(status, errc::run_dir_unusable, context);
  }
  template <class T>
  static T take(arrow::Result<T> result) {
    return take_arrow(std::move(result), errc::run_dir_unusable, context);
  }
  uint64_t row_bytes_of(stored_type as) const {
    return table_.row.features * stored_bytes(as);
  }

  const unsigned char* features(uint64_t first, uint64_t count) {
    const uint64_t each = row_bytes_of(lies_as_);
    if (!table_.elsewhere)
      return table_.features.data() + first * each;
    block_.resize(count * each);
    table_.elsewhere->read(first, count, block_.data());
    return block_.data();
  }

  /// The smallest type that has every bit. A whole number below 0 that is 0 has
  /// one bit more than an integer can tell.
  void choose_stored() {
    if (lies_as_ != stored_type::float32 || !from_.int16)
      return;
    uint32_t negative_zeros = 0;
    for (uint64_t first = 0; first < table_.rows; first += step_) {
      const uint64_t count = std::min(step_, table_.rows - first);
      const unsigned char* at = features(first, count);
      for (uint64_t i = 0; i < count * table_.row.features; ++i) {
        uint32_t bits;
        std::memcpy(&bits, at + i * sizeof(bits), sizeof(bits));
        negative_zeros |= uint32_t(bits == 0x80000000);
      }
    }
    if (negative_zeros == 0)
      stored_ = from_.uint8 ? stored_type::uint8 : stored_type::int16;
  }

  std::shared_ptr<arrow::Schema> schema() const {
    arrow::FieldVector fields{arrow::field(
        "features", arrow::fixed_size_binary(int32_t(row_bytes_of(stored_))),
        false)};
    if (!table_.targets.empty())
      fields.push_back(arrow::field("target", arrow::float32(), false));
    else
      fields.push_back(arrow::field("label", text_type(), false));
    for (const placement::kept_column& one : table_.kept)
      fields.push_back(arrow::field(one.name, text_type(), false));
    if (!table_.taken_rows.empty())
      fields.push_back(arrow::field("row", arrow::uint64(), false));
    const auto most =
        std::max_element(table_.labels.begin(), table_.labels.end());
    const json about{{"rows", table_.rows},
                     {"rows_read", from_.rows_read},
                     {"features", table_.row.features},
                     {"stored", int(stored_)},
                     {"int16", from_.int16},
                     {"uint8", from_.uint8},
                     {"vocabulary", from_.vocabulary},
                     {"classes", table_.row.classes},
                     {"targets", !table_.targets.empty()},
                     {"taken", !table_.taken_rows.empty()},
                     {"label_most", most == table_.labels.end() ? -1 : *most},
                     {"skipped", from_.skipped},
                     {"first_skipped", from_.first_skipped},
                     {"types", from_.types},
                     {"faults", from_.faults.rows},
                     {"faults_kept", from_.faults.kept},
                     {"last_fault", from_.faults.last}};
    return arrow::schema(
        std::move(fields),
        arrow::key_value_metadata({about_key, faults_key},
                                  {json_text(about), from_.faults.lines}));
  }

  std::shared_ptr<arrow::RecordBatch> batch(uint64_t first, uint64_t count) {
    const unsigned char* rows = features(first, count);
    if (stored_ != lies_as_) {
      narrowed_.resize(count * row_bytes_of(stored_));
      convert_values(rows, lies_as_, count * table_.row.features, stored_,
                     narrowed_.data());
      rows = narrowed_.data();
    }
    const uint64_t each = row_bytes_of(stored_);
    arrow::ArrayVector columns{std::make_shared<arrow::FixedSizeBinaryArray>(
        arrow::fixed_size_binary(int32_t(each)), int64_t(count),
        std::make_shared<arrow::Buffer>(rows, int64_t(count * each)))};
    if (!table_.targets.empty())
      columns.push_back(
          numbers<arrow::FloatArray>(table_.targets, first, count));
    else
      columns.push_back(numbered_texts(
          numbers<arrow::Int32Array>(table_.labels, first, count), names_));
    for (size_t i = 0; i < kept_.size(); ++i)
      columns.push_back(numbered_texts(
          numbers<arrow::Int32Array>(table_.kept[i].cells, first, count),
          kept_[i]));
    if (!table_.taken_rows.empty())
      columns.push_back(
          numbers<arrow::UInt64Array>(table_.taken_rows, first, count));
    if (!schema_)
      schema_ = schema();
    return arrow::RecordBatch::Make(schema_, int64_t(count),
                                    std::move(columns));
  }

  const table_fragment& from_;
  const source_table& table_;
  arrow::io::OutputStream& to_;
  const store::work_watch& stop_;
  const stored_type lies_as_;
  stored_type stored_;
  uint64_t step_ = 0;
  std::vector<std::shared_ptr<arrow::Array>> kept_;
  std::shared_ptr<arrow::Array> names_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<unsigned char> block_;
  std::vector<unsigned char> narrowed_;
};

} // namespace

void fragment_file::write(const std::filesystem::path& path,
                          const table_fragment& from, refusal refuse,
                          const store::work_watch& stop) {
  std::optional<int> failed;
  try {
    hashed_output to(path);
    try {
      fragment_writer(from, to, stop).write();
    } catch (const ballast_error&) {
      if (to.failed() == 0)
        throw;
      failed = to.failed();
    }
    if (!failed)
      to.publish();
  } catch (const store::file_failure& problem) {
    failed = problem.number();
  }
  if (failed)
    refuse(path, *failed);
}

// -- reading ------------------------------------------------------------------

struct fragment_file::reader {
  std::shared_ptr<arrow::io::ReadableFile> file;
  std::shared_ptr<arrow::ipc::RecordBatchFileReader> batches;
};

fragment_file::fragment_file(const std::filesystem::path& path,
                             const store::work_watch& stop)
    : path_(path), reader_(std::make_unique<reader>()) {
  reader_->file = take_arrow(arrow::io::ReadableFile::Open(path.string()),
                             errc::invalid_data, path.string());
  check(stop);
  reader_->batches = take_arrow(arrow::ipc::RecordBatchFileReader::Open(
                                    reader_->file.get(), int64_t(end_)),
                                errc::invalid_data, path.string());
  read_about();
  read_texts();
}

fragment_file::~fragment_file() = default;

void fragment_file::refuse(const std::string& why) const {
  throw ballast_error(errc::invalid_data, path_.string() + ": " + why);
}

void fragment_file::check(const store::work_watch& stop) {
  const auto size = uint64_t(
      take_arrow(reader_->file->GetSize(), errc::invalid_data, path_.string()));
  if (size <= trailer_bytes)
    refuse("is no fragment");
  end_ = size - trailer_bytes;
  content_hash hash;
  std::vector<char> block(size_t{1} << 20);
  std::string trailer;
  for (uint64_t at = 0; at < size;) {
    check_stop(stop);
    const uint64_t to = at < end_ ? end_ : size;
    const auto got = uint64_t(take_arrow(
        reader_->file->ReadAt(
            int64_t(at), int64_t(std::min<uint64_t>(block.size(), to - at)),
            block.data()),
        errc::invalid_data, path_.string()));
    if (got == 0)
      refuse("was cut off while it was read");
    if (at < end_)
      hash.update(block.data(), got);
    else
      trailer.append(block.data(), got);
    at += got;
  }
  if (trailer != std::string(mark) + hex16(hash.digest()))
    refuse("is damaged: its checksum is another");
}

void fragment_file::read_about() {
  const auto metadata = reader_->batches->schema()->metadata();
  const std::string text =
      metadata ? metadata->Get(about_key).ValueOr("") : std::string();
  const json read = json::parse(text, nullptr, false);
  if (!read.is_object())
    refuse("does not say what it holds");
  about_.rows = read.value("rows", uint64_t{0});
  about_.rows_read = read.value("rows_read", uint64_t{0});
  about_.features = read.value("features", uint32_t{0});
  about_.stored = stored_type(read.value("stored", 0));
  about_.int16 = read.value("int16", false);
  about_.uint8 = read.value("uint8", false);
  about_.vocabulary = read.value("vocabulary", uint32_t{0});
  about_.classes = read.value("classes", uint32_t{0});
  about_.targets = read.value("targets", false);
  about_.taken = read.value("taken", false);
  about_.label_most = read.value("label_most", -1);
  about_.skipped = read.value("skipped", uint64_t{0});
  about_.first_skipped = read.value("first_skipped", std::string());
  about_.types = read.value("types", std::string());
  faults_.rows = read.value("faults", uint64_t{0});
  faults_.kept = read.value("faults_kept", uint64_t{0});
  faults_.last = read.value("last_fault", std::string());
  faults_.lines = metadata->Get(faults_key).ValueOr("");
}

/// All batches have the same.
void fragment_file::read_texts() {
  const auto first = take_arrow(reader_->batches->ReadRecordBatch(0),
                                errc::invalid_data, path_.string());
  const int kept_end = first->num_columns() - (about_.taken ? 1 : 0);
  for (int i = about_.targets ? 2 : 1; i < kept_end; ++i) {
    const auto& column =
        static_cast<const arrow::DictionaryArray&>(*first->column(i));
    const auto& words =
        static_cast<const arrow::BinaryArray&>(*column.dictionary());
    std::vector<std::string> texts;
    for (int64_t at = 0; at < words.length(); ++at)
      texts.emplace_back(words.GetView(at));
    if (i == 1)
      class_names_ = std::move(texts);
    else
      kept_texts_.push_back(std::move(texts));
  }
}

fragment_file::rows fragment_file::rows_of(const void* batch_read) const {
  const auto& batch = *static_cast<const arrow::RecordBatch*>(batch_read);
  const auto count = size_t(batch.num_rows());
  const auto cells = [&](int column) {
    return static_cast<const arrow::Int32Array&>(
               *static_cast<const arrow::DictionaryArray&>(
                    *batch.column(column))
                    .indices())
        .raw_values();
  };
  rows out;
  out.count = count;
  out.features =
      static_cast<const arrow::FixedSizeBinaryArray&>(*batch.column(0))
          .raw_values();
  if (about_.targets)
    out.targets = {
        static_cast<const arrow::FloatArray&>(*batch.column(1)).raw_values(),
        count};
  else
    out.labels = {cells(1), count};
  for (size_t i = 0; i < kept_texts_.size(); ++i)
    out.kept.emplace_back(reinterpret_cast<const uint32_t*>(cells(int(2 + i))),
                          count);
  if (about_.taken)
    out.taken = {static_cast<const arrow::UInt64Array&>(
                     *batch.column(batch.num_columns() - 1))
                     .raw_values(),
                 count};
  return out;
}

void fragment_file::each(const std::function<void(const rows&)>& see) const {
  for (int i = 0; i < reader_->batches->num_record_batches(); ++i) {
    const auto batch = take_arrow(reader_->batches->ReadRecordBatch(i),
                                  errc::invalid_data, path_.string());
    see(rows_of(batch.get()));
  }
}

} // namespace ballast::data
