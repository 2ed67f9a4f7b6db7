/// What an operator of a data graph is told beside its inputs, and the column
/// that every stream of a graph ends with. Values; no errors.
#pragma once

#include "data/operators/row_origin.hpp"
#include "store/work_watch.hpp"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace ballast::data {

class found_files;
class removed_rows;
class row_faults;

/// What a node, or a source, has given so far. Any thread.
struct rows_given {
  std::atomic<uint64_t> rows{0};
  std::atomic<bool> ended{false}; // there are no more
};

/// What an operator of a graph needs beside its inputs.
struct operator_context {
  std::string pointer;               // of the node in the job: "/data/graph/2"
  std::string name;                  // of the node, for messages
  uint64_t memory_bytes = 256 << 20; // for the rows that this operator holds
  // An existing folder for its files; whoever made it removes it.
  std::filesystem::path spill;
  uint64_t seed = 0;
  store::work_watch stop = {};
  /// Of the graph; null: rows are named by their number in the node.
  std::shared_ptr<const row_origins> origins = nullptr;
  /// Rows without a result are left out and told here; it lives longer. Null:
  /// the first of them is an error.
  row_faults* faults = nullptr;
  /// Where an operator that removes rows, as the job has it, tells them; it
  /// lives longer. Null: nobody asks.
  removed_rows* removed = nullptr;
  /// Where the stream counts what it gives; null: nobody asks.
  std::shared_ptr<rows_given> given = nullptr;
  /// Of a source: as in source_request.
  found_files* found = nullptr;
};

/// The last column of every stream of a graph: uint64, never null: which row of
/// which source a row comes from.
inline constexpr const char* origin_column = "__origin";

} // namespace ballast::data
