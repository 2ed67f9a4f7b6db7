/// Writes the rows of a source as the fitted nodes of a run changed them: for
/// rows that the run has never seen. Rows that the states remove are listed
/// beside it. One thread. Errors: those of the rows, of the states
/// (state_files.hpp), and of record_writer; no file is left then.
#pragma once

#include "data/fitting/state_files.hpp"
#include "data/sink/node_files.hpp"
#include "runtime/job/job.hpp"
#include "store/work_watch.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace ballast::data {

struct apply_terms {
  std::string states; // a folder, as read_states() takes it
  std::string node;   // of the job: a source, or a node
  std::string file;   // by whose end the format is known
  left_out_rows left_out = {};
  store::work_watch stop = {};
};
struct applied_rows {
  uint64_t rows = 0;
  std::vector<fitted_node> states;
  std::vector<std::string> notes; // what a user should know
};

/// Columns of text files are read with the types that the states were fitted
/// on, unless the job says others.
applied_rows apply_states(const job& what, const apply_terms& terms);

/// The type of a column that a state was fitted on, as a job writes it; empty:
/// it has no word for it.
std::string type_word(const std::string& type);

} // namespace ballast::data
