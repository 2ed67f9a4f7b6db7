/// Reads record streams into a source_table: chooses the columns, checks the
/// numbers, and names file, row and column of what is wrong. What a format
/// needs is a stream; all else is the same for every one.
#pragma once

#include "data/source/csv_stream.hpp"
#include "data/source/file_system.hpp"
#include "data/source/fragment_file.hpp"
#include "data/source/record_stream.hpp"
#include "data/source/source_table.hpp"
#include "runtime/messages/fragments.hpp"

#include <memory>
#include <string>
#include <vector>

namespace ballast::data {

/// How a file is opened whose columns have no types.
struct table_terms {
  text_cells* texts = nullptr; // CSV: as csv_stream::terms has them
  cell_typing typing = cell_typing::numbers;
  /// JSON lines: the columns of the source's first file, which the later ones
  /// have; null: this is the first.
  std::shared_ptr<arrow::Schema> like = nullptr;
  /// JSON lines: the columns that are trained on, as jsonl_terms have them.
  std::shared_ptr<arrow::Schema> known = nullptr;
};

/// Files of it have a schema, and columns that are read apart.
bool tells_types(source_format format);

/// A file of a source with named columns.
std::unique_ptr<record_stream> open_table(const source_spec& spec,
                                          const source_request& request,
                                          const stored_file& file,
                                          const table_terms& how = {});

/// How large a file of a store may be to be fetched as a whole (open_file): a
/// job may want few of its columns, or only a look at it.
uint64_t whole_max_of(const source_spec& spec);

/// What open_table() takes, in order; a database counts as one.
std::vector<stored_file> stored_files(const source_spec& spec,
                                      const source_request& request);

/// The files of the source, one after another. ballast_error{invalid_data}.
source_table read_table(const source_spec& spec, const source_request& request);
/// One of its files, as read_fragment() says.
table_fragment read_table_file(const source_spec& spec,
                               const source_request& request,
                               const stored_file& file,
                               const fragment_choice& choice);

/// One archive of images, or some of a folder, likewise. What a class of the
/// latter is numbered follows from the folder alone.
table_fragment read_image_file(const source_spec& spec,
                               const source_request& request,
                               const stored_file& file);

} // namespace ballast::data
