/// Fits an operator on the rows of a stream: they are cut into numbered batches
/// of the same size whoever reads them, each batch becomes a part of the facts
/// on any of some threads, and the parts are merged in one tree by their
/// numbers. So the state has the same bits with any number of threads, and may
/// be made of parts that others gathered. Includes Arrow; for source files of
/// data/ only.
///
/// Errors: those of the stream; ballast_error{invalid_data} of the node; the
/// first cell, in the order of the rows, that the operator refuses.
#pragma once

#include "data/fitting/fitted_operator.hpp"
#include "data/operators/operator_context.hpp"
#include "data/source/record_stream.hpp"

#include <cstddef>
#include <memory>

namespace ballast::data {

/// Rows of a batch; only the last has fewer. Another number gives states with
/// other last bits: then increase state_version.
constexpr int64_t fit_batch_rows = 16 << 10;

/// Reads `from` to its end, of an operator that learns; of another not at all.
/// `threads`: 0: as many as help.
fitted_state fit_rows(const fitted_operator& what,
                      std::unique_ptr<record_stream> from,
                      const operator_context& context, size_t threads = 0);

} // namespace ballast::data
