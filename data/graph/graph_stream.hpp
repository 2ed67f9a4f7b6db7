/// The rows of one output of a job's graph: builds the operators that it needs,
/// from the sources up, and checks every column and expression before a row is
/// read. Includes Arrow; for source files of data/ only.
///
/// A node that several read is built for each of them: rows are read again
/// rather than kept. One owner, one thread. Errors name the node's field, or
/// the file and row.
#pragma once

#include "data/operators/column_stream.hpp"
#include "data/operators/row_origin.hpp"
#include "runtime/job/job.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

struct graph_terms {
  uint64_t seed = 0;
  uint64_t memory_bytes = uint64_t{256} << 20; // for each blocking operator
  /// For rows that do not fit; empty: a folder of its own for temporary files.
  std::filesystem::path spill = {};
  store::work_watch stop = {};
};

class graph_stream final : public record_stream {
public:
  /// `data` stays as long as the stream. Reads the beginning of each source.
  graph_stream(const data_spec& data, const graph::output& output,
               graph_terms terms);
  /// `output`: a name, which is there.
  graph_stream(const data_spec& data, const std::string& output,
               graph_terms terms);
  ~graph_stream() override;
  graph_stream(const graph_stream&) = delete;

  /// Ends with the column of origins.
  std::shared_ptr<arrow::Schema> schema() override { return from_->schema(); }
  void choose(std::vector<int> columns) override {
    from_->choose(std::move(columns));
  }
  /// All columns of the user's, without the origin; returns these.
  std::shared_ptr<arrow::Schema> choose_all();
  std::shared_ptr<arrow::RecordBatch> next() override;
  std::string place_of(int64_t row) const override {
    return from_->place_of(row);
  }
  /// Those whose rows were read so far, each with the origin of its first.
  std::vector<source_table::file> files() const { return origins_->files(); }

private:
  class builder;

  const std::shared_ptr<row_origins> origins_;
  std::filesystem::path own_folder_; // removed at the end; may be empty
  stream_pointer from_;
};

} // namespace ballast::data
