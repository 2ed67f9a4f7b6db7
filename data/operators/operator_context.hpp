/// What an operator of a data graph is told beside its inputs, and the column
/// that every stream of a graph ends with. Values; no errors.
#pragma once

#include "store/work_watch.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

namespace ballast::data {

/// What an operator of a graph needs beside its inputs.
struct operator_context {
  std::string pointer;               // of the node in the job: "/data/graph/2"
  std::string name;                  // of the node, for messages
  uint64_t memory_bytes = 256 << 20; // for the rows that this operator holds
  // An existing folder for its files; whoever made it removes it.
  std::filesystem::path spill;
  uint64_t seed = 0;
  store::work_watch stop = {};
};

/// The last column of every stream of a graph: uint64, never null: which row of
/// which source a row comes from.
inline constexpr const char* origin_column = "__origin";

} // namespace ballast::data
