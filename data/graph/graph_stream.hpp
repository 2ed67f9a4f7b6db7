/// The rows of one output of a job's graph, or of all parts of a split.
/// Includes Arrow; for source files of data/ only.
///
/// Every column and expression that it needs is checked before a row is read
/// (graph_builder.hpp). One owner, one thread. Errors name the node's field, or
/// the file and row.
#pragma once

#include "data/graph/graph_builder.hpp"
#include "data/graph/temporary_folder.hpp"
#include "data/operators/column_stream.hpp"
#include "data/operators/row_origin.hpp"
#include "runtime/job/job.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

class graph_stream final : public record_stream {
public:
  /// Of a split: the rows of one part, or those of all as they come, with the
  /// number of their part (uint8) in a column without a name before the origin.
  enum class parts : uint8_t { one, all };

  /// `data` stays as long as the stream. Reads the beginning of each source.
  graph_stream(const data_spec& data, const graph::output& output,
               graph_terms terms, parts which = parts::one);
  /// `output`: a name, which is there.
  graph_stream(const data_spec& data, const std::string& output,
               graph_terms terms);
  graph_stream(const graph_stream&) = delete;

  /// Ends with the column of origins.
  std::shared_ptr<arrow::Schema> schema() override { return from_->schema(); }
  void choose(std::vector<int> columns) override {
    from_->choose(std::move(columns));
  }
  /// All columns of the user's, without the origin; returns these. With all
  /// parts, the number of the part comes behind them.
  std::shared_ptr<arrow::Schema> choose_all();
  std::shared_ptr<arrow::RecordBatch> next() override { return from_->next(); }
  std::string place_of(int64_t row) const override {
    return from_->place_of(row);
  }
  const row_origins& origins() const { return *origins_; }
  /// How many a source has given so far, by its number.
  uint64_t rows_of_source(size_t number) const {
    return counts_->rows({true, number, 0});
  }
  /// Those whose rows were read so far, each with the origin of its first.
  std::vector<source_table::file> files() const { return origins_->files(); }
  /// It gave none: ballast_error{invalid_data} at the node where they ended.
  [[noreturn]] void refuse_no_rows() const;

private:
  const data_spec& data_;
  const graph::output output_;
  const row_faults* const faults_;
  const uint64_t left_out_before_;
  const std::shared_ptr<row_origins> origins_;
  const std::shared_ptr<node_counts> counts_ = std::make_shared<node_counts>();
  const parts which_;
  rows_folder own_folder_; // of the streams' files, so it goes after them
  stream_pointer from_;
};

/// What each node of a job gives, by its number; a mistake of any of them is
/// thrown, whether or not something reads it.
std::vector<std::shared_ptr<arrow::Schema>>
schemas_of_nodes(const data_spec& data, const store::work_watch& stop = {},
                 found_files* found = nullptr);
/// The same, but only of nodes whose sources are files of this machine and can
/// be opened: without the others nothing is known of them.
void schemas_of_nodes_here(const data_spec& data,
                           const store::work_watch& stop = {});

} // namespace ballast::data
