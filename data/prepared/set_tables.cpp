#include "data/prepared/set_tables.hpp"

#include "data/base/arrow_support.hpp"
#include "data/base/content_hash.hpp"
#include "data/base/file_hash.hpp"
#include "data/prepared/list_table.hpp"
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

uint64_t number_of(const std::string& hex) {
  uint64_t out = 0;
  std::from_chars(hex.data(), hex.data() + hex.size(), out, 16);
  return out;
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

void read_labels(const list_table_reader& in, ledger::manifest& into) {
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

void add_weights(const ledger::manifest& of, list_columns& to) {
  lists_builder<uint32_t> rows;
  lists_builder<double> weights;
  for (const std::vector<ledger::chunk_info>* part : {&of.train, &of.test})
    for (const ledger::chunk_info& one : *part) {
      rows.begin();
      weights.begin();
      for (const ledger::weight_run& run : one.weights) {
        rows.add(run.rows);
        weights.add(run.weight);
      }
    }
  to.emplace_back("weight_rows", rows.finish());
  to.emplace_back("weights", weights.finish());
}

void read_weights(const list_table_reader& in, ledger::manifest& into) {
  const size_t train = into.train.size();
  const arrow::LargeListArray& rows = in.lists("weight_rows");
  const arrow::LargeListArray& weights = in.lists("weights");
  const auto* many = in.numbers<uint32_t>(rows, "weight_rows");
  const auto* weight = in.numbers<double>(weights, "weights");
  for (size_t i = 0; i < in.rows(); ++i) {
    ledger::chunk_info& one = i < train ? into.train[i] : into.test[i - train];
    const auto [begin, end] = same_list(in, rows, weights, i);
    for (int64_t k = begin; k < end; ++k)
      one.weights.push_back({many[k], weight[k]});
    if (const auto wrong = weights_error(one))
      in.refuse(*wrong);
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
  list_columns columns{{"rows", rows.finish()},
                       {"bytes", bytes.finish()},
                       {"checksum", checksums.finish()}};
  if (with_labels) {
    columns.emplace_back("labels", labels.finish());
    columns.emplace_back("label_rows", label_rows.finish());
  }
  if (std::ranges::any_of(of.train, [](const ledger::chunk_info& one) {
        return !one.weights.empty();
      }))
    add_weights(of, columns);
  const char* what = "a table of chunks";
  const auto out =
      take_arrow(arrow::io::BufferOutputStream::Create(), errc::internal, what);
  write_list_table(
      columns,
      arrow::KeyValueMetadata::Make(
          {header_key, train_chunks_key},
          {json_text(manifest_header(of)), std::to_string(of.train.size())}),
      out, errc::internal, what);
  return take_arrow(out->Finish(), errc::internal, what)->ToString();
}

ledger::manifest read_chunk_table(const std::string& bytes,
                                  const std::string& name) {
  const list_table_reader in(bytes, name);
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
  if (in.has("weights"))
    read_weights(in, out);
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
  write_list_table(
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
  const list_table_reader in(bytes, name);
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
