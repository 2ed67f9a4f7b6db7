/// Rows, changed by what an operator has learned. Includes Arrow; for source
/// files of data/ only.
///
/// The same rows come out in the same order with any number of threads. Rows
/// that the operator removes are told to the context's removed_rows, counted,
/// and said at the end. One owner, one thread. Errors: check_schema's, and the
/// first cell that the operator refuses.
#pragma once

#include "data/fitting/fitted_operator.hpp"
#include "data/operators/column_stream.hpp"

#include <functional>
#include <memory>
#include <string>

namespace ballast::data {

struct fitted_terms {
  std::shared_ptr<const fitted_operator> what;
  std::shared_ptr<const fitted_state> state;
  bool of_training = false; // the rows that it was fitted on
  size_t threads = 0;       // 0: as many as help
  /// Told of rows that were left out, when the last row has come; may be empty.
  std::function<void(const std::string&)> note = {};
};

stream_pointer fitted_rows(stream_pointer from, fitted_terms terms,
                           operator_context context);

} // namespace ballast::data
