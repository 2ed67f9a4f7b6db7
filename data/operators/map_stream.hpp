/// An operator of the user's, out of a library: what it makes of the rows, each
/// checked before it is used. Includes Arrow; for source files of data/ only.
///
/// The library runs in this process, by the stream's thread, or, if it says
/// that it may be, by several; the same rows come out in the same order. A
/// mistake of it is one line with the node, the library, the operator, and the
/// file, row and column where it names them; a crash is a crash.
#pragma once

#include "data/operators/column_stream.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast::data {

struct map_terms {
  std::string library; // its file
  std::string function;
  std::string options = "{}"; // JSON
  /// That it is given; empty: all.
  std::vector<std::string> columns = {};
  bool keep = true;     // the columns that come in go on, too
  uint64_t rows = 4096; // that it is given at once, at most
  size_t threads = 0;   // 0: as many as help
};

/// Loads the library and asks it for its columns. ballast_error{invalid_data}.
stream_pointer map_rows(stream_pointer from, const map_terms& terms,
                        operator_context context);

} // namespace ballast::data
