/// One stream of a user's operator: its calls, and the checks of what it gives
/// back. Includes Arrow; for source files of data/ only.
///
/// apply() by several threads at once only where concurrent(). Errors:
/// source_error, which names the node, the library and the operator; its detail
/// is what the operator says, which may quote rows.
#pragma once

#include <arrow/c/abi.h> // before operator.h, which has its structs, too

#include "data/operators/operator_context.hpp"
#include "include/ballast/operator.h"

#include <arrow/type_fwd.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

class operator_call {
public:
  /// Opens the stream for columns of `input`.
  operator_call(const ballast_operator& what, const std::string& library,
                const std::string& options,
                std::shared_ptr<arrow::Schema> input,
                const operator_context& context);
  ~operator_call();
  operator_call(const operator_call&) = delete;

  bool concurrent() const {
    return (what_.flags & BALLAST_OPERATOR_CONCURRENT) != 0;
  }
  /// The columns that come out.
  const std::shared_ptr<arrow::Schema>& output() const { return output_; }

  struct made {
    std::shared_ptr<arrow::RecordBatch> rows;
    std::vector<uint32_t> from; // of each, the row that it was made of
  };
  /// `place_of`: a row of `rows`, for messages.
  made apply(const arrow::RecordBatch& rows,
             const std::function<std::string(int64_t)>& place_of) const;

private:
  using places = std::function<std::string(int64_t)>;
  [[noreturn]] void refuse(const std::string& place, const std::string& why,
                           const std::string& detail = {}) const;
  [[noreturn]] void refuse_said(const ballast_operator_error& said,
                                int64_t rows, const places& place_of) const;
  void call(const std::function<int32_t(ballast_operator_error*)>& work,
            int64_t rows, const places& place_of) const;
  void open(const std::string& options);
  void close() const;
  void check_schema();
  std::shared_ptr<arrow::RecordBatch> rows_of(ArrowArray& output) const;
  std::shared_ptr<arrow::RecordBatch> own_copy(ArrowArray& output) const;
  std::vector<uint32_t> origins_of(ArrowArray& from, int64_t rows_in,
                                   int64_t rows_out) const;
  void check_nulls(const made& what, const places& place_of) const;

  const ballast_operator& what_;
  const operator_context context_;
  const std::string who_;               // "items (split_items of libmine.so)"
  const std::string crashed_;           // the same, for when it does
  std::vector<std::string> crashed_in_; // the same, by column that comes out
  const std::shared_ptr<arrow::Schema> input_;
  std::shared_ptr<arrow::Schema> output_;
  void* stream_ = nullptr;
};

} // namespace ballast::data
