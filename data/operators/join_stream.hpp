/// Joins the rows of two streams whose keys are equal. Includes Arrow; for
/// source files of data/ only.
///
/// Rows come by the left row, then by the right row; right rows without a left
/// one at the end. Null equals nothing; NaN equals NaN, -0.0 equals 0.0.
/// Numbers of different types are compared as numbers, texts as texts; keys of
/// other different types are refused.
///
/// The right side is held in memory and the left one streams by. Where the
/// right side is too large, both go to files by the hash of their keys, and
/// each pair is joined for itself; a right side that no hash can share out,
/// because most of it has one key, is joined block by block. One owner, one
/// thread. Errors: ballast_error{invalid_job} for terms that fit no stream,
/// source_error for a column, before a row is read; else those of
/// spill_file.hpp.
#pragma once

#include "data/operators/operator_context.hpp"
#include "data/source/record_stream.hpp"
#include "runtime/graph/operator_catalogue.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

using graph::join_kind;

struct join_terms {
  join_kind kind = join_kind::inner;
  std::vector<std::string> on_left;
  std::vector<std::string> on_right; // empty: the same names
  // Of a right column whose name the left side has, too.
  std::string suffix = "_right";
};

/// A right key of the same name as its left one is not repeated. A row keeps
/// the origin of its left row, or of its right row where it has no left one.
std::unique_ptr<record_stream> join_rows(std::unique_ptr<record_stream> left,
                                         std::unique_ptr<record_stream> right,
                                         join_terms terms,
                                         operator_context context);

} // namespace ballast::data
