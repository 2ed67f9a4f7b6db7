/// What the operators of a graph share as streams: which columns are wanted, in
/// which order, and where a row comes from. Includes Arrow; for source files of
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

class operator_stream : public record_stream {
public:
  explicit operator_stream(operator_context context);

  std::shared_ptr<arrow::Schema> schema() override { return schema_; }
  void choose(std::vector<int> columns) override;
  std::shared_ptr<arrow::RecordBatch> next() override;
  /// "people.csv: row 12", by the row's origin.
  std::string place_of(int64_t row) const override;

protected:
  /// Ends with the origin.
  void set_schema(std::shared_ptr<arrow::Schema> schema);
  const operator_context& context() const { return context_; }

  /// Before the first produce() of any stream of the graph: these columns of
  /// the schema, each once; that of the origin is among them. Chooses those of
  /// the inputs; reads nothing.
  virtual void begin(const std::vector<int>& columns) = 0;
  /// The next rows, never none: those columns in that order, and maybe others
  /// behind them. Null at the end.
  virtual std::shared_ptr<arrow::RecordBatch> produce() = 0;

private:
  void begin_once();

  const operator_context context_;
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<int> wanted_;
  std::vector<int> places_; // of `wanted_` in what produce() returns
  int origin_place_ = 0;    // likewise
  std::shared_ptr<arrow::Schema> chosen_;
  std::shared_ptr<arrow::Array> origins_; // of the batch that came last
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

/// The columns that a user can name.
std::shared_ptr<arrow::Schema> without_origin(const arrow::Schema& schema);

/// The index of a column that an operator's option names; refuses a name that
/// is not there, with the nearest one, at `pointer`.
int find_column(const arrow::Schema& schema, const std::string& column,
                const std::string& pointer);

} // namespace ballast::data
