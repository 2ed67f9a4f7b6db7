/// What the blocking operators share as streams: which columns are wanted, in
/// which order, and how many rows came. Includes Arrow; for source files of
/// data/ only.
///
/// One owner, one thread, as every stream.
#pragma once

#include "data/operators/operator_context.hpp"
#include "data/source/record_stream.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

class blocking_stream : public record_stream {
public:
  explicit blocking_stream(operator_context context);

  std::shared_ptr<arrow::Schema> schema() override { return schema_; }
  void choose(std::vector<int> columns) override;
  std::shared_ptr<arrow::RecordBatch> next() override;
  /// "NODE: row 12" of what it hands out.
  std::string place_of(int64_t row) const override;

protected:
  void set_schema(std::shared_ptr<arrow::Schema> schema);
  const operator_context& context() const { return context_; }

  /// Before the first produce(): these columns of the schema, each once.
  virtual void begin(const std::vector<int>& columns) = 0;
  /// The next rows, never none: those columns in that order, and maybe others
  /// behind them. Null at the end.
  virtual std::shared_ptr<arrow::RecordBatch> produce() = 0;

private:
  const operator_context context_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<int> wanted_;
  std::vector<int> places_; // of `wanted_` in what produce() returns
  std::shared_ptr<arrow::Schema> chosen_;
  bool begun_ = false;
  bool ended_ = false;
  int64_t rows_before_ = 0;
  int64_t rows_ = 0; // with the batch that came last
};

/// `columns`, and behind them those of `keys` that they lack; `places` becomes
/// where each key is.
std::vector<int> with_keys(std::vector<int> columns,
                           const std::vector<int>& keys,
                           std::vector<int>& places);

} // namespace ballast::data
