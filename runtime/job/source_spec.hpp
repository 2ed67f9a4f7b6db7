/// One source of rows, as a job names it: where they lie and how they are read.
/// A plain value; job_fields_data.cpp describes its fields.
#pragma once

#include "runtime/job/job_words.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace ballast {

/// `format` selects which fields apply.
struct source_spec {
  source_format format{}; // required
  std::string images;     // idx
  std::string labels;     // idx
  std::string uri;        // tables, shards: path, glob or URI; images: a folder
  std::string label;      // tables: column; empty = none
  std::vector<std::string> features;    // tables: columns; empty = all
  std::vector<std::string> null_values; // csv: of a cell that is missing
  std::string query;                    // sql: either this; flight: a command
  std::string table;                    // sql: or this
  std::string password_env;             // sql, flight; empty = none
  std::string password_file;            // sql, flight; empty = none
  std::string partition_by;             // sql; empty = none
  std::optional<uint64_t> connections;  // sql, flight; null = as many as help
  std::vector<uint32_t> size; // pictures: height and width, or both in one
  std::string from;           // graph: a name of data.sources or data.graph
  std::string where;          // tables: a condition; empty = every row
  uint64_t rows = 0;          // synthetic
  uint32_t classes = 0;       // synthetic
  uint32_t width = 16;        // synthetic: "features"
  /// csv, jsonl: words of column_type, by column; others as their cells say.
  std::map<std::string, std::string> columns;
};

} // namespace ballast
