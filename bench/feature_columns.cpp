// How fast columns are cleaned in memory: missing numbers filled, outliers
// clipped, standardized, categories made columns or hashed; fitted on all rows,
// then applied to them. For bench/lib/features.py.
//
//   feature_columns FILE.arrow THREADS ROUNDS
//
// Columns x0, x1, ... are numbers, c0, ... become columns, h0, ... are hashed.
// The last line is a JSON object: seconds of each round, the rows, and the
// SHA-256 of all states, which must not depend on the threads.
#include "data/base/arrow_support.hpp"
#include "data/fitting/fit_rows.hpp"
#include "data/fitting/fitted_stream.hpp"
#include "data/model/sha256.hpp"

#include <arrow/api.h>
#include <arrow/io/api.h>
#include <arrow/ipc/api.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace ballast::bench {
namespace {

using nlohmann::json;
using batches = std::vector<std::shared_ptr<arrow::RecordBatch>>;

/// Rows that are in memory already.
class memory_stream final : public data::record_stream {
public:
  explicit memory_stream(const batches& rows) : rows_(rows) {
    columns_.resize(size_t(rows_.at(0)->num_columns()));
    std::iota(columns_.begin(), columns_.end(), 0);
  }
  std::shared_ptr<arrow::Schema> schema() override {
    return rows_[0]->schema();
  }
  void choose(std::vector<int> columns) override {
    columns_ = std::move(columns);
  }
  std::shared_ptr<arrow::RecordBatch> next() override {
    if (at_ == rows_.size())
      return nullptr;
    return data::take_arrow(rows_[at_++]->SelectColumns(columns_),
                            errc::internal, "columns");
  }
  std::string place_of(int64_t row) const override {
    return "row " + std::to_string(row + 1);
  }

private:
  const batches& rows_;
  std::vector<int> columns_;
  size_t at_ = 0;
};

batches read_rows(const char* path) {
  const auto file = data::take_arrow(arrow::io::ReadableFile::Open(path),
                                     errc::invalid_data, path);
  const auto reader = data::take_arrow(
      arrow::ipc::RecordBatchFileReader::Open(file), errc::invalid_data, path);
  batches out;
  uint64_t row = 0;
  for (int i = 0; i < reader->num_record_batches(); ++i) {
    const auto rows =
        data::take_arrow(reader->ReadRecordBatch(i), errc::invalid_data, path);
    std::vector<uint64_t> origins(size_t(rows->num_rows()));
    std::iota(origins.begin(), origins.end(), row);
    row += origins.size();
    out.push_back(data::take_arrow(
        rows->AddColumn(
            rows->num_columns(),
            arrow::field(data::origin_column, arrow::uint64(), false),
            std::make_shared<arrow::UInt64Array>(
                rows->num_rows(),
                arrow::Buffer::FromVector(std::move(origins)))),
        errc::internal, path));
  }
  return out;
}

std::vector<std::string> columns_of(const batches& rows, char kind) {
  std::vector<std::string> out;
  for (const std::string& name : rows[0]->schema()->field_names())
    if (name[0] == kind)
      out.push_back(name);
  return out;
}

data::fit_terms node(graph::op what, std::vector<std::string> columns) {
  data::fit_terms out;
  out.what.what = what;
  graph::option_of(out.what, "columns") = std::move(columns);
  out.pointer = to_string(what);
  out.name = out.pointer;
  return out;
}

struct stage {
  std::shared_ptr<const data::fitted_operator> what;
  std::shared_ptr<const data::fitted_state> state;
};

data::stream_pointer changed(const batches& rows,
                             const std::vector<stage>& stages, size_t threads) {
  data::stream_pointer out = std::make_unique<memory_stream>(rows);
  for (const stage& one : stages)
    out = data::fitted_rows(std::move(out),
                            {one.what, one.state, true, threads}, {});
  return out;
}

double round_s(const batches& rows, size_t threads, std::string& hash) {
  const std::vector<std::string> numbers = columns_of(rows, 'x');
  const auto begin = std::chrono::steady_clock::now();
  std::vector<stage> stages;
  for (data::fit_terms& terms : std::vector<data::fit_terms>{
           node(graph::op::impute, numbers),
           node(graph::op::clip_outliers, numbers),
           node(graph::op::standardize, numbers),
           node(graph::op::one_hot, columns_of(rows, 'c')),
           node(graph::op::hash_encode, columns_of(rows, 'h'))}) {
    stage next{data::make_operator(terms), nullptr};
    next.state = std::make_shared<const data::fitted_state>(data::fit_rows(
        *next.what, changed(rows, stages, threads), {}, threads));
    stages.push_back(std::move(next));
  }
  const data::stream_pointer out = changed(rows, stages, threads);
  uint64_t count = 0;
  while (const auto batch = out->next())
    count += uint64_t(batch->num_rows());
  const std::chrono::duration<double> took =
      std::chrono::steady_clock::now() - begin;
  hash = std::to_string(count);
  for (const stage& one : stages)
    hash += " " + data::hash_of(data::bytes_of(*one.state));
  return took.count();
}

int run(const char* path, size_t threads, int rounds) {
  const batches rows = read_rows(path);
  json seconds = json::array();
  std::string hash;
  for (int i = 0; i < rounds; ++i)
    seconds.push_back(round_s(rows, threads, hash));
  data::sha256 all;
  all.update(std::as_bytes(std::span(hash)));
  std::printf("%s\n", json{{"seconds", seconds},
                           {"rows", std::stoull(hash)},
                           {"sha256", all.hex_digest()}}
                          .dump()
                          .c_str());
  return 0;
}

} // namespace
} // namespace ballast::bench

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: feature_columns FILE.arrow THREADS ROUNDS\n");
    return 2;
  }
  try {
    return ballast::bench::run(argv[1], std::strtoul(argv[2], nullptr, 10),
                               std::atoi(argv[3]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "feature_columns: %s\n", error.what());
    return 1;
  }
}
