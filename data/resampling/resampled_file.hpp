/// Resamples the rows of a job's source or node into a file of the same
/// columns. Errors: those of reading, of resample() and of writing; nothing is
/// left half done. One owner; threads of its own while it works.
#pragma once

#include "data/neighbours/parallel_work.hpp"
#include "runtime/graph/resampling_methods.hpp"
#include "runtime/job/job.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ballast::data {

struct resampling_request {
  std::string node;
  std::string source; // its name in messages
  std::string label;
  graph::resampling_order order;
  uint64_t seed = 1;
  std::string file;
  bool with_source = false; // a column `source_row`, from 1; missing: made
};

struct class_rows {
  std::string name;
  uint64_t before = 0;
  uint64_t after = 0;
};

struct resampling_report {
  std::vector<class_rows> classes;
  uint64_t rows = 0;     // of the output
  uint64_t made = 0;     // of these not in the input
  double resample_s = 0; // from rows in memory to rows in memory
};

/// `progress`: what is done next, for a reader.
resampling_report
resample_file(const job& what, const resampling_request& request,
              const work_terms& how,
              const std::function<void(const std::string&)>& progress = {});

} // namespace ballast::data
