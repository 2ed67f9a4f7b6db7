/// The rows of a node that several read: computed once, as far as the reader
/// that is furthest ahead has come, and kept for the others. Includes Arrow;
/// for source files of data/ only.
///
/// In memory are those that some reader still lacks. Once they are more than
/// the context's memory, all that come are written to a file, which each reader
/// reads on its own. Columns that no reader wants are not computed. The readers
/// own it together and are read in any order, also by several threads: one that
/// asks for rows which are being computed waits for them. Errors: the node's,
/// and those of spill_file.hpp.
#pragma once

#include "data/operators/column_stream.hpp"

#include <cstdint>
#include <memory>

namespace ballast::data {

/// Who reads later.
enum class late_readers : uint8_t {
  none,
  /// Readers may still be made when others have read, so that no row is ever
  /// dropped; they want columns that others wanted.
  same_columns,
  /// The same, and they may want any column, so that all are kept.
  any_columns,
};

class kept_rows {
public:
  kept_rows(stream_pointer from, operator_context context, late_readers later);
  ~kept_rows();
  kept_rows(const kept_rows&) = delete;

  /// Another reader, of all rows from the first on. All that are made before a
  /// row is read must be read, or destroyed, for rows to be dropped.
  static stream_pointer reader(const std::shared_ptr<kept_rows>& of);

private:
  friend class kept_reader;
  class store;
  const std::unique_ptr<store> store_;
};

} // namespace ballast::data
