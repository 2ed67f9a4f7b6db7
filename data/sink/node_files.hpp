/// Writes the rows of a job's sources and nodes as files. All of them appear,
/// or none does (partial_path.hpp); none if a source changed meanwhile. The
/// parts of one split come from one pass. One thread. Errors: those of
/// graph_stream and record_writer; ballast_error{usage} of names that are not
/// there or that are taken, {invalid_data} of a source that changed.
#pragma once

#include "runtime/job/job.hpp"
#include "store/work_watch.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace ballast::data {

class partial_path;
class removed_rows;
class row_faults;

struct written_file {
  std::filesystem::path path;
  uint64_t rows = 0;
};

/// Rows that are left out; without `faults` the first that is wrong is an
/// error, without `removed` those that nodes remove are not listed.
struct left_out_rows {
  row_faults* faults = nullptr;
  removed_rows* removed = nullptr;
  /// Where their lines go if there are any; appears with the other files.
  std::filesystem::path file = {};
};

/// Node i into file i. `tell`: what a user should know of the files once they
/// are there, such as that one has no rows and why, or what fitted nodes say of
/// what they learned.
std::vector<written_file>
write_nodes(const job& what, const std::vector<std::string>& nodes,
            const std::vector<std::string>& files,
            const store::work_watch& stop = {},
            const left_out_rows& left_out = {},
            const std::function<void(const std::string&)>& tell = {});

struct partition_terms {
  std::string folder; // that is not there yet
  std::string format; // "parquet": the end of the files' names
  uint64_t into = 0;  // either so many files, to which rows go in turn
  /// Or one for each value: COLUMN=VALUE/part-0.parquet, without that column,
  /// as Hive has it: who reads the folder takes it from the name.
  std::string column;
};

std::vector<written_file> partition_node(const job& what,
                                         const std::string& node,
                                         const partition_terms& terms,
                                         const store::work_watch& stop = {},
                                         const left_out_rows& left_out = {});

/// Puts complete outputs in their places together, and beside them the list of
/// the rows that were left out, if there are any.
void publish_with_list(std::vector<partial_path*> all,
                       const left_out_rows& left_out);

} // namespace ballast::data
