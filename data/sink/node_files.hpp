/// Writes the rows of a job's sources and nodes as files. All of them appear,
/// or none does. One thread. Errors: those of graph_stream and record_writer;
/// ballast_error{usage} of names that are not there or that are taken.
#pragma once

#include "runtime/job/job.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ballast::data {

struct written_file {
  std::filesystem::path path;
  uint64_t rows = 0;
};

/// Node i into file i.
std::vector<written_file> write_nodes(const job& what,
                                      const std::vector<std::string>& nodes,
                                      const std::vector<std::string>& files);

struct partition_terms {
  std::string folder; // that is not there yet
  std::string format; // "parquet": the end of the files' names
  uint64_t into = 0;  // either so many files, to which rows go in turn
  std::string column; // or one for each value: COLUMN=VALUE/part-0.parquet
};

std::vector<written_file> partition_node(const job& what,
                                         const std::string& node,
                                         const partition_terms& terms);

} // namespace ballast::data
