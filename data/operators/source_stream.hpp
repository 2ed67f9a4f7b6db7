/// A source of a graph: the rows of its files, one after another, each with its
/// origin. The schema is that of the first file; text files without rows are
/// passed over where another one has some. A column that a later one
/// lacks, or has with a type that does not become the first's, is refused
/// before a row of that file is read. Includes Arrow; for source files of data/
/// only.
#pragma once

#include "data/operators/column_stream.hpp"
#include "data/operators/row_origin.hpp"
#include "data/source/file_system.hpp"
#include "runtime/job/job.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace ballast::data {

/// What the first to open a source found. Others open it only when they read
/// it, and again from its first row.
struct found_source {
  std::vector<stored_file> files;
  std::shared_ptr<arrow::Schema> schema = nullptr; // null: nobody yet
  size_t first = 0; // of the files, that has rows: the schema is its
};

/// `index`: of the source in origins; `spec` stays as long as the stream.
/// Reads the first file's schema if `found` has none. ballast_error as
/// open_table() throws it.
stream_pointer source_rows(const source_spec& spec, size_t index,
                           std::shared_ptr<row_origins> origins,
                           found_source& found, operator_context context);

} // namespace ballast::data
