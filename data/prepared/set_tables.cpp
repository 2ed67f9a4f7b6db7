#include "data/prepared/set_tables.hpp"

#include "data/base/arrow_support.hpp"
#include "data/base/content_hash.hpp"
#include "data/base/file_hash.hpp"
#include "data/prepared/prepare_cache.hpp"
#include "data/store/chunk.hpp"
#include "runtime/base/fault_point.hpp"
#include "runtime/base/json_text.hpp"
#include "store/sync_path.hpp"

#include <algorithm>
#include <arrow/api.h>
#include <arrow/io/file.h>
#include <arrow/io/memory.h>
#include <arrow/ipc/reader.h>
#include <arrow/ipc/writer.h>
#include <charconv>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

namespace ballast::data {

namespace {

constexpr const char* header_key = "ballast.manifest";
constexpr const char* train_chunks_key = "ballast.train_chunks";

void check(const arrow::Status& status) {
  check_arrow(status, errc::internal, "a table of chunks");
}

uint64_t number_of(const std::string& hex) {
  uint64_t out = 0;
  std::from_chars(hex.data(), hex.data() + hex.size(), out, 16);
  return out;
}

/// Lists of numbers, one list for each chunk.
template <class Number>
class lists_builder {
public:
  using builder = typename arrow::CTypeTraits<Number>::BuilderType;

  void expect(uint64_t numbers) { check(numbers_->Reserve(int64_t(numbers))); }
  void begin() { check(lists_->Append()); }
  void none() { check(lists_->AppendNull()); }
  void add(Number one) { check(numbers_->Append(one)); }
  std::shared_ptr<arrow::Array> finish() {
    std::shared_ptr<arrow::Array> out;
    check(lists_->Finish(&out));
    return out;
  }

private:
  std::shared_ptr<builder> numbers_ = std::make_shared<builder>();
  std::shared_ptr<arrow::LargeListBuilder> lists_ =
      std::make_shared<arrow::LargeListBuilder>(arrow::default_memory_pool(),
                                                numbers_);
};

template <class Number>
class column_builder {
public:
  void add(Number one) { check(builder_.Append(one)); }
  std::shared_ptr<arrow::Array> finish() {
    std::shared_ptr<arrow::Array> out;
    check(builder_.Finish(&out));
    return out;
  }

private:
  typename arrow::CTypeTraits<Number>::BuilderType builder_;
};

using named_columns =
    std::vector<std::pair<const char*, std::shared_ptr<arrow::Array>>>;

/// Closes `to`. `what`, `failed`: where that cannot be.
void write_stream(const named_columns& columns,
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

/// The one batch of a table, and its columns by name and type.
class table_reader {
public:
  table_reader(const std::string& bytes, std::string name)
      : name_(std::move(name)) {
    const auto in = std::make_shared<arrow::io::BufferReader>(
        std::make_shared<arrow::Buffer>(std::string_view(bytes)));
    const auto reader =
        take_arrow(arrow::ipc::RecordBatchStreamReader::Open(in),
                   errc::invalid_data, name_);
    check_arrow(reader->ReadNext(&batch_), errc::invalid_data, name_);
    if (batch_ == nullptr)
      refuse("it is empty");
    check_arrow(batch_->ValidateFull(), errc::invalid_data, name_);
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw ballast_error(errc::invalid_data, name_ + ": " + why);
  }
  size_t rows() const { return size_t(batch_->num_rows()); }
  bool has(const char* name) const {
    return batch_->GetColumnByName(name) != nullptr;
  }
  std::string metadata(const char* key) const {
    const auto& all = batch_->schema()->metadata();
    return all == nullptr ? "" : all->Get(key).ValueOr("");
  }
  template <class Number>
  const Number* column(const char* name) const {
    return typed<typename arrow::CTypeTraits<Number>::ArrayType>(
               batch_->GetColumnByName(name), name)
        .raw_values();
  }
  const arrow::LargeListArray& lists(const char* name) const {
    return typed<arrow::LargeListArray>(batch_->GetColumnByName(name), name);
  }
  template <class Number>
  const Number* numbers(const arrow::LargeListArray& of,
                        const char* name) const {
    return typed<typename arrow::CTypeTraits<Number>::ArrayType>(of.values(),
                                                                 name)
        .raw_values();
  }

private:
  template <class Array>
  const Array& typed(const std::shared_ptr<arrow::Array>& what,
                     const char* name) const {
    const auto* out = dynamic_cast<const Array*>(what.get());
    if (out == nullptr)
      refuse(std::string("column '") + name + "' is missing, or of another " +
             "type");
    return *out;
  }

  std::string name_;
  std::shared_ptr<arrow::RecordBatch> batch_;
};

/// The same list of both.
std::pair<int64_t, int64_t> same_list(const table_reader& in,
                                      const arrow::LargeListArray& a,
                                      const arrow::LargeListArray& b,
                                      size_t row) {
  const auto at = int64_t(row);
  if (a.value_length(at) != b.value_length(at) ||
      a.value_offset(at) != b.value_offset(at))
    in.refuse("chunk " + std::to_string(row) + " has lists of unequal length");
  return {a.value_offset(at), a.value_offset(at) + a.value_length(at)};
}

/// Empty: a chunk that is described leaves them out if they are its samples.
bool has_own_source_rows(const ledger::chunk_info& one) {
  return !one.source_rows.empty() && one.source_rows != one.samples;
}

uint64_t rows_of(const std::vector<ledger::chunk_info>& chunks) {
  uint64_t out = 0;
  for (const ledger::chunk_info& one : chunks)
    out += one.rows;
  return out;
}

void add_runs(lists_builder<uint64_t>& first, lists_builder<uint32_t>& count,
              const std::vector<ledger::id_run>& runs) {
  first.begin();
  count.begin();
  for (const ledger::id_run& run : runs) {
    first.add(run.first);
    count.add(uint32_t(run.count));
  }
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in)
    throw ballast_error(errc::invalid_data, file.string() + " is missing");
  std::string out;
  in.seekg(0, std::ios::end);
  out.resize(size_t(std::max<std::streamoff>(in.tellg(), 0)));
  in.seekg(0);
  in.read(out.data(), std::streamsize(out.size()));
  if (!in)
    throw ballast_error(errc::invalid_data, file.string() + " cannot be read");
  return out;
}

std::string verified(const std::filesystem::path& file,
                     const std::string& expected) {
  std::string out = bytes_of(file);
  const std::string found = checksum(out.data(), out.size());
  if (found != expected)
    throw ballast_error(errc::invalid_data,
                        file.string() + ": is damaged: its checksum is " +
                            found + ", expected " + expected);
  return out;
}

void read_labels(const table_reader& in, ledger::manifest& into) {
  const size_t classes = histogram_bins(into.row);
  const size_t train = into.train.size();
  const arrow::LargeListArray& labels = in.lists("labels");
  const arrow::LargeListArray& label_rows = in.lists("label_rows");
  const auto* label = in.numbers<uint32_t>(labels, "labels");
  const auto* of_label = in.numbers<uint64_t>(label_rows, "label_rows");
  for (size_t i = 0; i < in.rows(); ++i) {
    ledger::chunk_info& one = i < train ? into.train[i] : into.test[i - train];
    one.label_histogram.resize(classes);
    const auto [begin, end] = same_list(in, labels, label_rows, i);
    for (int64_t k = begin; k < end; ++k) {
      if (label[k] >= classes)
        in.refuse("chunk " + std::to_string(i) + " has label " +
                  std::to_string(label[k]) + " of " + std::to_string(classes));
      one.label_histogram[label[k]] = of_label[k];
    }
  }
}

} // namespace

std::string chunk_table(const ledger::manifest& of,
                        chunk_columns_wanted wanted) {
  const bool with_labels = wanted == chunk_columns_wanted::all;
  column_builder<uint32_t> rows;
  column_builder<uint64_t> bytes, checksums;
  lists_builder<uint32_t> labels;
  lists_builder<uint64_t> label_rows;
  for (const std::vector<ledger::chunk_info>* part : {&of.train, &of.test})
    for (const ledger::chunk_info& one : *part) {
      rows.add(one.rows);
      bytes.add(one.bytes);
      checksums.add(number_of(one.checksum));
      if (!with_labels)
        continue;
      labels.begin();
      label_rows.begin();
      for (uint32_t label = 0; label < one.label_histogram.size(); ++label)
        if (one.label_histogram[label] > 0) {
          labels.add(label);
          label_rows.add(one.label_histogram[label]);
        }
    }
  named_columns columns{{"rows", rows.finish()},
                        {"bytes", bytes.finish()},
                        {"checksum", checksums.finish()}};
  if (with_labels) {
    columns.emplace_back("labels", labels.finish());
    columns.emplace_back("label_rows", label_rows.finish());
  }
  const char* what = "a table of chunks";
  const auto out =
      take_arrow(arrow::io::BufferOutputStream::Create(), errc::internal, what);
  write_stream(columns,
               arrow::KeyValueMetadata::Make({header_key, train_chunks_key},
                                             {json_text(manifest_header(of)),
                                              std::to_string(of.train.size())}),
               out, errc::internal, what);
  return take_arrow(out->Finish(), errc::internal, what)->ToString();
}

ledger::manifest read_chunk_table(const std::string& bytes,
                                  const std::string& name) {
  const table_reader in(bytes, name);
  size_t train = 0;
  const std::string count = in.metadata(train_chunks_key);
  std::from_chars(count.data(), count.data() + count.size(), train);
  if (train > in.rows())
    in.refuse("it has " + std::to_string(in.rows()) + " chunks, of which " +
              count + " are to train");
  ledger::manifest out;
  try {
    out = ledger::read_manifest_header(
        nlohmann::json::parse(in.metadata(header_key)), train);
  } catch (const nlohmann::json::exception& error) {
    in.refuse(error.what());
  }
  const auto* rows = in.column<uint32_t>("rows");
  const auto* sizes = in.column<uint64_t>("bytes");
  const auto* checksums = in.column<uint64_t>("checksum");
  out.train.reserve(train);
  out.test.reserve(in.rows() - train);
  for (size_t i = 0; i < in.rows(); ++i) {
    std::vector<ledger::chunk_info>& part = i < train ? out.train : out.test;
    ledger::chunk_info& one = part.emplace_back();
    one.id = chunk_id(uint32_t(i < train ? i : i - train));
    one.rows = rows[i];
    one.bytes = sizes[i];
    one.checksum = hex16(checksums[i]);
  }
  if (in.has("labels"))
    read_labels(in, out);
  for (const auto& [part, expected] :
       {std::pair(&out.train, out.train_rows), {&out.test, out.test_rows}})
    if (rows_of(*part) != expected)
      in.refuse("its chunks hold " + std::to_string(rows_of(*part)) +
                " rows, not " + std::to_string(expected));
  return out;
}

std::string write_sample_table(const ledger::manifest& of,
                               const std::filesystem::path& to) {
  if (int fault = fault_point("cache.write"))
    refuse_write(to, fault);
  lists_builder<uint64_t> samples, sources;
  lists_builder<uint32_t> sample_counts, source_counts;
  // Scattered rows are a run each: lists that grow would be copied often.
  uint64_t runs = 0;
  uint64_t source_runs = 0;
  for (const std::vector<ledger::chunk_info>* part : {&of.train, &of.test})
    for (const ledger::chunk_info& one : *part) {
      runs += one.samples.size();
      source_runs += has_own_source_rows(one) ? one.source_rows.size() : 0;
    }
  samples.expect(runs);
  sample_counts.expect(runs);
  sources.expect(source_runs);
  source_counts.expect(source_runs);
  for (const std::vector<ledger::chunk_info>* part : {&of.train, &of.test})
    for (const ledger::chunk_info& one : *part) {
      add_runs(samples, sample_counts, one.samples);
      if (has_own_source_rows(one)) {
        add_runs(sources, source_counts, one.source_rows);
        continue;
      }
      sources.none();
      source_counts.none();
    }
  const std::string what = "cannot write " + to.string();
  constexpr errc failed = errc::run_dir_unusable;
  write_stream(
      {{"samples", samples.finish()},
       {"sample_counts", sample_counts.finish()},
       {"source_rows", sources.finish()},
       {"source_row_counts", source_counts.finish()}},
      nullptr,
      take_arrow(arrow::io::FileOutputStream::Open(to.string()), failed, what),
      failed, what);
  store::sync_path(to);
  const file_hash written = hash_of_file(to);
  if (!written.whole)
    throw ballast_error(errc::invalid_data, to.string() + " cannot be read");
  return written.hex;
}

void read_sample_table(const std::string& bytes, const std::string& name,
                       ledger::manifest& into) {
  const table_reader in(bytes, name);
  const size_t train = into.train.size();
  if (in.rows() != train + into.test.size())
    in.refuse("it is of " + std::to_string(in.rows()) +
              " chunks, the set has " +
              std::to_string(train + into.test.size()));
  const auto read = [&](const char* ids, const char* counts, size_t row,
                        uint32_t expected) {
    const arrow::LargeListArray& first = in.lists(ids);
    const arrow::LargeListArray& count = in.lists(counts);
    const auto* firsts = in.numbers<uint64_t>(first, ids);
    const auto* many = in.numbers<uint32_t>(count, counts);
    const auto [begin, end] = same_list(in, first, count, row);
    std::vector<ledger::id_run> out;
    out.reserve(size_t(end - begin));
    uint64_t rows = 0;
    for (int64_t k = begin; k < end; ++k) {
      out.push_back({firsts[k], many[k]});
      rows += many[k];
    }
    if (rows != expected)
      in.refuse("chunk " + std::to_string(row) + " has " +
                std::to_string(rows) + " " + ids + ", not " +
                std::to_string(expected));
    return out;
  };
  for (size_t i = 0; i < in.rows(); ++i) {
    ledger::chunk_info& one = i < train ? into.train[i] : into.test[i - train];
    one.samples = read("samples", "sample_counts", i, one.rows);
    one.source_rows =
        in.lists("source_rows").IsNull(int64_t(i))
            ? one.samples
            : read("source_rows", "source_row_counts", i, one.rows);
  }
}

void read_chunks(const std::filesystem::path& folder, ledger::manifest& into) {
  if (!into.tables)
    return;
  const std::filesystem::path file = folder / chunk_table_name;
  ledger::manifest read =
      read_chunk_table(verified(file, into.tables->chunks), file.string());
  if (read.train_rows != into.train_rows || read.test_rows != into.test_rows ||
      read.train.size() != into.tables->train_chunks)
    throw ballast_error(errc::invalid_data,
                        file.string() + ": is of another set");
  into.train = std::move(read.train);
  into.test = std::move(read.test);
}

void read_samples(const std::filesystem::path& folder, ledger::manifest& into) {
  if (!into.tables)
    return;
  const std::filesystem::path file = folder / sample_table_name;
  read_sample_table(verified(file, into.tables->samples), file.string(), into);
}

} // namespace ballast::data
